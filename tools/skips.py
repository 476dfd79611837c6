"""Say which tests were skipped for want of what, and fail when something that is here was not used.

usage: python tools/skips.py REPORT.xml [PRESENT ...], where PRESENT are needs that this machine has (see tests/conftest.py).
"""

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

REASON = re.compile(r"needs (\w+), which is not here")


def skips(report: Path) -> Counter[str]:
    """How many tests were skipped per need; a skip for any other reason counts under its whole message."""
    found = Counter[str]()
    for skipped in ET.parse(report).iter("skipped"):
        message = skipped.get("message", "")
        known = REASON.fullmatch(message)
        found[known[1] if known else message] += 1
    return found


def main(report: Path, present: set[str]) -> int:
    """Print a line per need; 1 when one of them is present, or when a skip has no need that this project knows."""
    wrong = 0
    for need, count in sorted(skips(report).items()):
        if need in present:
            wrong = 1
            print(f"not run: {count} tests that need {need}, which IS here")
        elif need in ("shared", "docker", "node", "npm", "chromium", "redis", "compose"):
            print(f"not run: {count} tests that need {need}, which is not here")
        else:
            wrong = 1
            print(f"not run: {count} tests, skipped for a reason that is none: {need!r}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), set(sys.argv[2:])))
