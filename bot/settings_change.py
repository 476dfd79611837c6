"""Whether the settings that a pull request brings would be taken, once it is merged. Read where all of head is read: without network or secrets."""

from bot.analyze.engines.choice import choose
from bot.errors import UsageError
from bot.settings import settle
from bot.settings_file import from_file


def refused(content: bytes) -> str:
    """The one line with which runs would refuse a settings file, "" for none."""
    try:
        settings = settle(from_file(content))
        if settings.engines:
            choose(settings.engines)
    except UsageError as error:
        return str(error)
    return ""
