"""The two ways a run can end without a judgement, each one line for a person."""


class UsageError(Exception):
    """The command line, an input or a settings file is wrong: exit status 2. Says what, where and the cure in one line."""


class CannotLookError(Exception):
    """A named folder or revision is not there, or nothing could be read: exit status 3.

    Says what is missing and how to bring it.
    """
