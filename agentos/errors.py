"""Every error that AgentOS raises on purpose.

AgentOSError
├── UsageError              the command cannot start: exit 2 before anything ran
│   └── InvalidIdentifier   an id that is not safe to use in a path (also a ValueError)
├── ItemError               one item ends here, the others go on; carries its failure class
│   ├── BadInput            the item's own input cannot be used
│   └── ModelFormat         a model's answer does not have the agreed form
├── ProviderError           a completion could not be had; carries its failure class
│   └── RateLimited         the provider said "later" and how much later
└── CheckpointCorrupt       a checkpoint database that cannot be trusted

A message says what is wrong, with which thing, and what to do now.
"""

from __future__ import annotations


class AgentOSError(Exception):
    """Something that AgentOS foresaw and can explain."""


class UsageError(AgentOSError):
    """The command cannot start as it was given."""


class InvalidIdentifier(UsageError, ValueError):
    """An identifier that is not safe to use in a file name."""


class ItemError(AgentOSError):
    """One item cannot go on; `failure` is the class it is reported under."""

    failure = "infra"


class BadInput(ItemError):
    """The item's input cannot be used."""

    failure = "bad-input"


class ModelFormat(ItemError):
    """A model's answer does not have the agreed form."""

    failure = "model-format"


class ProviderError(AgentOSError):
    """A provider could not give a completion."""

    def __init__(self, message: str, failure: str = "provider") -> None:
        super().__init__(message)
        self.failure = failure


class RateLimited(ProviderError):
    """The provider asked to wait `delay` seconds before this key is used again."""

    def __init__(self, message: str, delay: float) -> None:
        super().__init__(message)
        self.delay = delay


class CheckpointCorrupt(AgentOSError):
    """A checkpoint database that cannot be trusted."""
