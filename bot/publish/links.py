"""Addresses of places: where a reader finds the line in the repository's own pages."""

import re
import shlex
from dataclasses import dataclass
from urllib.parse import quote

from bot.place import Place
from bot.publish import escape, words

_SHA = re.compile(r"[0-9a-f]{40,64}")
_REPOSITORY = re.compile(r"(?:[A-Za-z0-9._-]+/)?[A-Za-z0-9._-]+")  # the Hub's oldest models have no owner

# Longer addresses would let a few paths fill a comment.
_LONGEST = 1_000


@dataclass(frozen=True)
class Links:
    """Where the repository is shown: `server` such as https://github.com, `repository` as owner/name, full commit ids.

    `run` is the number of the workflow run whose report is shown, where another run shows it. Anything empty or unfit means no links: places are then shown as code.
    `source` is the query that makes the server show a Markdown file as it is written; `elsewhere` sends a reader, as markdown, to what has no room here.
    """

    server: str = ""
    repository: str = ""
    base_sha: str | None = None
    head_sha: str | None = None
    run: int = 0
    source: str = "?plain=1"
    elsewhere: str = "see the job summary"

    def url(self, place: Place) -> str | None:
        """The address of the place, or None where there is no page for it."""
        sha = self.head_sha if place.revision == "head" else self.base_sha
        known = self.server and _REPOSITORY.fullmatch(self.repository) and sha and _SHA.fullmatch(sha)
        # A step such as ".." would make the browser leave the commit.
        if not known or not place.in_tree or {"", ".", ".."} & set(place.path.split("/")):
            return None
        path = quote(place.path.encode("utf-8", "surrogatepass"), safe="/")
        raw = self.source if path.lower().endswith((".md", ".markdown")) else ""
        url = f"{self._home}/blob/{sha}/{path}{raw}#L{place.line}"
        return url if len(url) <= _LONGEST else None

    def report_of(self) -> str:
        """Whose report is shown, as markdown; "" where it is this run's own."""
        if not (self.run and self.server and _REPOSITORY.fullmatch(self.repository)):
            return ""
        return f"as reported by [run {self.run}]({self._home}/actions/runs/{self.run})"

    @property
    def _home(self) -> str:
        server = self.server if "://" in self.server else f"https://{self.server}"
        return f"{server.rstrip('/')}/{self.repository}"

    def place(self, place: Place, *, named: bool = True, key: bool = True) -> str:
        """The place as markdown: a link where there is a page, else code.

        With `named` the file is said, else only the line; with `key` what stands there.
        """
        url = self.url(place)
        if not place.in_tree:
            shown = escape.markup(words.text_place(place))
        elif url is None:
            shown = escape.code(f"{place.path if named else ''}:{place.line}")
        else:
            shown = f"[{escape.prose(escape.shorten(place.path, 100)) if named else ''}:{place.line}]({url})"
        stands = words.key(place.pointer) if key else ""
        before = " (before)" if place.revision == "base" and place.in_tree else ""
        return f"{shown} {escape.code(stands, 60)}{before}" if stands else f"{shown}{before}"

    def places(self, places: tuple[Place, ...], limit: int = 6) -> str:
        """The places in one line, a file named once for neighbours in it, the rest counted."""
        distinct = list(dict.fromkeys(places))
        files = [(place.revision, place.path) for place in distinct]
        shown = [self.place(place, named=index == 0 or files[index] != files[index - 1]) for index, place in enumerate(distinct)]
        more = [f"and {len(shown) - limit} more"] if len(shown) > limit else []
        return " · ".join(shown[:limit] + more)


def on_hub(endpoint: str, repository: str, *, base: str, number: int, base_sha: str | None, head_sha: str | None) -> Links:
    """The links of a comment on pull request `number` of a repository on the Hugging Face Hub, whose branch `base` it is for.

    The Hub shows a Markdown file as it is written, with lines to link to, for `?code=true`; its own people link so
    (huggingface/huggingface.js at 0ed8d60, packages/gguf/src/quant-descriptions.ts).
    """
    sides = (f"hub:{repository}@{base}", f"hub:{repository}@refs/pr/{number}")  # people paste it into a shell
    shown = escape.code(shlex.join(["model-repo-drift", "compare", *sides]), 400)
    return Links(endpoint, repository, base_sha, head_sha, source="?code=true", elsewhere=f"see what {shown} prints")
