"""What a test arranges to happen at certain requests."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from werkzeug.wrappers import Request

from tests.doubles.github_reads import Answer


@dataclass
class Planned:
    """At the next `times` requests that match: an answer in place of the real one, or an action, which returns None."""

    method: str
    path: str
    act: Callable[[], Answer | None]
    after: bool = False
    times: int = 1
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


def happens(plans: list[Planned], request: Request, *, after: bool) -> tuple[Answer, Mapping[str, str]] | None:
    """Let everything happen that is planned before (or after) `request`; an answer, with its headers, ends it."""
    for plan in list(plans):
        if plan.after == after and plan.method == request.method and re.search(plan.path, request.path):
            plan.times -= 1
            if not plan.times:
                plans.remove(plan)
            if answer := plan.act():
                return answer, plan.headers
    return None
