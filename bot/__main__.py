"""The entry point. For a comparison the child process is started before anything else is imported."""

import gc
import os
import sys

from bot.analyze import child


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] and sys.argv[1] in ("compare", "check", "inspect", "render"):
        child.prepare(os.environ)
        gc.disable()  # a short life: what the collector would look through is nearly all modules
    try:
        from bot.cli import run  # noqa: PLC0415 - while the child imports as well

        status = run()
    finally:
        child.dismiss()
    try:
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
            sys.stdout.flush()
    except OSError:
        status = status or 141  # whoever read our output, such as `head`, has gone: what a shell reports for it
    os._exit(status)  # taking the interpreter apart takes a twentieth of a comparison


if __name__ == "__main__":
    main()
