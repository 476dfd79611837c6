"""The entry point. For a comparison the child process is started before anything else is imported."""

import os
import sys

from bot.analyze import child


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["compare"]:
        child.prepare(os.environ)
    try:
        from bot.cli import run  # noqa: PLC0415 - while the child imports as well

        run()
    finally:
        child.dismiss()


if __name__ == "__main__":
    main()
