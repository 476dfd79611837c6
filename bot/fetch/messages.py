"""The commit messages between two commits, as texts of the change."""

from bot.fetch.git import Repository
from bot.snapshot import Text

MOST_COMMITS = 250  # as many as GitHub lists for a pull request
MOST_CHARACTERS = 4 << 20  # of all messages together


def commit_messages(repository: Repository, base: str, head: str) -> tuple[tuple[Text, ...], tuple[str, ...]]:
    """Return the messages of the commits that head has and base has not, newest first, and what was left out."""
    shas = repository.ask("rev-list", f"--max-count={MOST_COMMITS + 1}", head, f"^{base}").decode().split()
    left_out: list[str] = []
    if len(shas) > MOST_COMMITS:
        left_out.append(f"only the newest {MOST_COMMITS} commit messages were read")
    answer = repository.ask("cat-file", "--batch", stdin="".join(f"{sha}\n" for sha in shas[:MOST_COMMITS]).encode())
    texts: list[Text] = []
    left, start = MOST_CHARACTERS, 0
    for sha in shas[:MOST_COMMITS]:
        header, start = answer.index(b"\n", start), answer.index(b"\n", start) + 1
        size = int(answer[answer.rindex(b" ", 0, header) + 1 : header])
        text = _message(answer[start : start + size])
        start += size + 1
        left -= len(text)
        if left < 0:
            left_out.append(
                f"the commit messages from {sha[:12]} back were not read: together they are over {MOST_CHARACTERS >> 20} MiB"
            )
            break
        texts.append(Text(f"commit:{sha}", text))
    return tuple(texts), tuple(left_out)


def _message(commit: bytes) -> str:
    """Return the message of a commit object."""
    headers, _, message = commit.partition(b"\n\n")
    encodings = [line.partition(b" ")[2] for line in headers.split(b"\n") if line.startswith(b"encoding ")]
    try:
        return message.decode(encodings[0].decode("ascii") if encodings else "utf-8", "replace")
    except (LookupError, UnicodeDecodeError):
        return message.decode("utf-8", "replace")
