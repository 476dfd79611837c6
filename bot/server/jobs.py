"""What the bot is asked to do: one record per kind of job, and the key under which jobs that ask for the same meet."""

from typing import TypeAlias

import msgspec


class _Job(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """A job says what is to be looked at, never what was seen: the worker reads the state of that moment, so duplicates and a wrong order do no harm."""


class Discussion(_Job, frozen=True, kw_only=True, tag="discussion"):
    """Judge pull request `num` of the repository `repo` ("org/name") and see to its comment."""

    repo: str
    num: int

    @property
    def key(self) -> str:
        """Jobs of one key that wait are done at once."""
        return f"discussion/{self.repo}/{self.num}"


class Base(_Job, frozen=True, kw_only=True, tag="base"):
    """The branch `ref` ("refs/heads/main") moved: judge again every open pull request of `repo` that carries our comment."""

    repo: str
    ref: str

    @property
    def key(self) -> str:
        """Jobs of one key that wait are done at once."""
        return f"base/{self.repo}/{self.ref}"


class Audited(_Job, frozen=True, kw_only=True, tag="audited"):
    """Judge `repo` as a part of the audit `audit`; `head` and `base` are commits, "" for the newest one and for none; `text` is the message of head."""

    audit: str
    repo: str
    head: str = ""
    base: str = ""
    text: str = ""

    @property
    def key(self) -> str:
        """Jobs of one key that wait are done at once."""
        return f"audited/{self.audit}/{self.repo}/{self.head}"


Job: TypeAlias = Discussion | Base | Audited
