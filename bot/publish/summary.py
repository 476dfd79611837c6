"""The job summary: the whole comparison on one page, nothing folded that a reader came for."""

from bot.analyze.records import Comparison
from bot.publish.blocks import Limits
from bot.publish.compose import compose, utf8_bytes
from bot.publish.links import Links
from bot.publish.page import View, body, footer, opening

# The runner drops a summary of more than 1,048,576 bytes as a whole; some room is left for other steps' words.
_LIMIT = 1_000_000


def summary(comparison: Comparison, links: Links) -> str:
    """The summary as GitHub markdown of at most 1,000,000 bytes in UTF-8."""
    view = View(whole=True, limits=Limits(block=200_000, diff=60_000), elsewhere="see the JSON report")
    return compose(
        opening(comparison), body(comparison, links, view), footer(comparison, links), limit=_LIMIT, measure=utf8_bytes
    )
