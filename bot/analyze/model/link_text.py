"""Files that hold the target of a symbolic link as text, as Git leaves them where the file system has no links."""

from bot.analyze.model.folder import Model
from bot.answer import Known

_LONGEST = 1024


def is_link_text(model: Model, name: str) -> bool:
    """Whether a file looks like the target of a link to a file of its own name: one line that ends as the name does.

    An engine that is given the repository with its links reads another file there, or none.
    """
    content = model.content(name)
    if not isinstance(content, Known) or len(content.value) > _LONGEST:
        return False
    last = name.rpartition("/")[2].encode()
    return b"\n" not in content.value and content.value.rpartition(b"/")[2] == last
