"""Names of repositories of the Hub, and paths that are none."""

import re
from typing import Any

# A name is "name" or "owner/name" (huggingface_hub 2.4.0 utils/_validators.py:94-150, run).
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_PATH = re.compile(r"[/~\\]|\.{1,2}($|[/\\])|[A-Za-z]:[/\\]|file:")


def is_local_path(name: Any) -> bool:
    r"""Whether a text can only be a path of somebody's machine: /data/x, ~/x, ./x, C:\x, a/b/c, or a folder with a slash at the end.

    One slash alone makes a name of the Hub. A checkpoint-500 is what a trainer calls its folders.
    """
    if not isinstance(name, str) or "://" in name.removeprefix("file://"):
        return False
    return bool(_PATH.match(name) or "\\" in name or name.count("/") > 1 or name.endswith("/") or is_checkpoint(name))


def is_checkpoint(name: str) -> bool:
    """Whether a text is called as a trainer calls its folders; it could be a name of the Hub all the same."""
    return re.fullmatch(r"(.*/)?checkpoint-\d+", name) is not None


def named_in_cache(path: str) -> str:
    """The name "owner/name" of a path into the cache of huggingface_hub (…/models--owner--name/snapshots/…), else ""."""
    found = re.search(r"(?:^|[/\\])models--([\w.-]+?)--([\w.-]+)(?:[/\\]|$)", path[:1000])
    return f"{found[1]}/{found[2]}" if found else ""


def plain(name: str) -> str:
    """A name as the Hub compares it: in small letters, without its address and without a revision."""
    return re.sub(r"^https?://(huggingface\.co|hf\.co)/", "", name.strip()).strip("/").partition("@")[0].lower()


def is_id(name: Any) -> bool:
    """Whether a text has the form of a name of the Hub."""
    return isinstance(name, str) and _ID.fullmatch(name) is not None and "--" not in name and ".." not in name
