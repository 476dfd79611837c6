"""A text refers to a commit that no branch holds."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.records import Claim
from bot.analyze.wording import value

CHECK = Check(
    title="A commit that the text refers to is on no branch",
    says="refers to a commit that no branch holds",
    sees="a commit named in README, CHANGELOG, the pull request's text or a commit message (a link, `revision=`, or a SHA said to be a commit) "
    "that neither a branch nor a tag holds, with all refs known",
    why="Whoever follows the branch does not have it, although the text says that it is there.",
    fix="Merge the commit, or name the one that is on the branch.",
    wrong_when="the same change is on the branch under another id (squash, cherry-pick), the refs are incomplete, or the commit is of another repository",
    severity="warning",
    weighed="A warning, for the claim breaks no run. One real pair shows it, and the commit is on a ref of a pull request alone.",
)


def find_in_claims(claims: tuple[Claim, ...]) -> Iterator[Seen]:
    """Take the claims whose commit is orphaned."""
    for claim in claims:
        if claim.status == "orphaned":
            where = claim.places[0].path
            yield Seen(
                key=claim.sha,
                title=f"{value(where)} refers to commit {value(claim.sha[:12])}, which is on no branch: {claim.reason}",
                places=claim.places,
                fix="Correct the id, or name the repository that it belongs to."
                if "no commit of this repository" in claim.reason
                else "",
            )
