"""Judge what an audit asks about: one revision, or one pair of a history."""

import traceback
from pathlib import Path

from bot.audit.pace import Pace, StoppedError
from bot.audit.records import Asked, Line, failed, judged
from bot.errors import CannotLookError, UsageError
from bot.fetch.hub import PREFIX, open_hub, parse
from bot.hub import Access
from bot.run import check, compare
from bot.snapshot import Text

NOWHERE = Path()  # the clone, which nothing here is read from


def judge(asked: Asked, access: Access, pace: Pace) -> Line:
    """Judge; whatever goes wrong is said in the line. Settings files of the repositories are not heeded: all are judged by the same measure.

    Raises StoppedError when the audit was stopped meanwhile.
    """
    try:
        return pace.patiently(lambda: _judged(asked, access))
    except (UsageError, CannotLookError) as fault:
        return failed(asked, fault)
    except StoppedError:
        raise
    except Exception as fault:  # noqa: BLE001 - a fault of ours about one repository must not end the audit of ten thousand; it is said
        where = traceback.extract_tb(fault.__traceback__)[-1]
        said = f"this is a fault in the program: {type(fault).__name__}: {str(fault)[:300]} ({Path(where.filename).name}:{where.lineno})"
        return failed(asked, CannotLookError(said))


def _judged(asked: Asked, access: Access) -> Line:
    if not asked.head:
        return judged(asked, check(f"{PREFIX}{asked.repo}", repo=NOWHERE, hub=access))
    repository = parse(asked.repo).repository
    base, head = (open_hub(f"{PREFIX}{repository}@{sha}", access) for sha in (asked.base, asked.head))
    texts = (Text(f"commit:{asked.head}", asked.text),) if asked.text else ()
    return judged(asked, compare(base=base, head=head, repo=NOWHERE, texts=texts, repository=repository, prove="never"))
