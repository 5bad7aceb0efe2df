"""Every error that AgentOS raises on purpose.

AgentOSError
├── UsageError              the command cannot start: exit 2 before anything ran
│   └── InvalidIdentifier   an id that is not safe to use in a path (also a ValueError)
├── ItemError               one item ends here, the others go on; carries its failure class
│   ├── BadInput            the item's own input cannot be used
│   └── ModelFormat         a model's answer does not have the agreed form
├── ProviderError           a completion could not be had; carries what that is a sign of
│   └── RateLimited         the provider said "later" and how much later
└── CheckpointCorrupt       a checkpoint database that cannot be trusted

A message says what is wrong, with which thing, and what to do now.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentos.providers import Allowance, Consumed


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


class Sign(StrEnum):
    """What a failed call is a sign of; decided by status and structured body, by words only where there is no other."""

    RATE_LIMIT = "rate-limit"
    """The quota group has to rest for a while."""
    QUOTA = "quota"
    """The quota group is out until its quota is renewed."""
    BILLING = "billing"
    """The quota group is out until somebody pays."""
    AUTH = "auth"
    """The key is refused, now and always."""
    NO_ACCESS = "no-access"
    """This key may not use this model; another key may."""
    OVERLOADED = "overloaded"
    """The provider has too much to do, whoever asks."""
    TRANSIENT = "transient"
    """A fault that may be gone the next time."""
    BAD_REQUEST = "bad-request"
    """This very request is refused, now and always."""
    BAD_ANSWER = "bad-answer"
    """There is an answer, and it cannot be used."""
    BUDGET = "budget"
    """The call would cost more than is left to spend."""
    SECRET = "secret"
    """A prompt or an answer holds a key."""


_FAILURES = {
    Sign.AUTH: "auth",
    Sign.BILLING: "auth",
    Sign.BAD_REQUEST: "provider",
    Sign.BAD_ANSWER: "model-format",
    Sign.BUDGET: "budget",
    Sign.SECRET: "secret",
}


class ProviderError(AgentOSError):
    """A provider could not give a completion.

    `failure` is the class that the item is reported under if it comes to that; `delay` is how many seconds the
    provider itself asked to wait, None when it did not say. The limits are what it says a minute may have, 0 when it
    does not say; `allowance` is what its headers say of them. `consumed` is what the call used up; None means what is
    usual for its sign: nothing for a refusal, anything up to the reservation for an answer that was lost or could not
    be used.
    """

    def __init__(
        self,
        message: str,
        failure: str = "",
        *,
        sign: Sign = Sign.TRANSIENT,
        delay: float | None = None,
        requests_limit: int = 0,
        tokens_limit: int = 0,
        input_limit: int = 0,
        consumed: Consumed | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        super().__init__(message)
        self.sign = sign
        self.delay = delay
        self.requests_limit = requests_limit
        self.tokens_limit = tokens_limit
        self.input_limit = input_limit
        self.consumed = consumed
        self.allowance = allowance
        self.failure = failure or _FAILURES.get(sign, "provider")

    def detached(self) -> ProviderError:
        """Return the same error without the traceback and the errors that led to it: those may hold a key."""
        copy = ProviderError(str(self), self.failure, sign=self.sign, delay=self.delay, consumed=self.consumed)
        copy.requests_limit, copy.tokens_limit = self.requests_limit, self.tokens_limit
        copy.input_limit = self.input_limit
        copy.allowance = self.allowance
        return copy


class RateLimited(ProviderError):
    """The provider asked to wait `delay` seconds before this key is used again."""

    def __init__(self, message: str, delay: float) -> None:
        super().__init__(message, sign=Sign.RATE_LIMIT, delay=delay)


class CheckpointCorrupt(AgentOSError):
    """A checkpoint database that cannot be trusted."""
