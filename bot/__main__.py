"""`python -m bot` is `model-repo-drift`."""

from bot.cli import main

if __name__ == "__main__":
    main()
