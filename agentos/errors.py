"""Define the errors that AgentOS raises on purpose.

AgentOSError
├── UsageError              the command cannot start: exit 2, nothing has run
│   ├── InvalidIdentifier   an id that is unsafe in a path (also a ValueError)
│   └── ForgeError          a forge such as GitHub refused a request
│       ├── Absent          it does not have what was asked for
│       ├── Invalid         it refuses the content of one request
│       └── Unavailable     it cannot be reached, or its quota is used up
│           └── Unclear     it is unknown whether a request took effect
├── ItemError               one item ends, the others continue
│   ├── BadInput            the item's own input is unusable
│   ├── ModelFormat         a model's answer has the wrong format
│   ├── GitError            git failed
│   ├── WorktreeConflict    a worktree or branch is in use elsewhere
│   ├── DesignInUse         a design cannot be replaced: somebody works on it
│   ├── PathRefused         a path must not be written
│   ├── WriteQuotaExceeded  generated code wrote more than its quota
│   └── BrokenSandbox       the sandbox cannot run commands
├── ProviderError           a model gave no usable answer; has a cause
│   ├── RateLimited         the provider named a delay before the next call
│   └── OverBudget          the call could exceed a cost cap
├── NoResponse              GitHub did not respond, or its response broke off
├── CheckpointCorrupt       a checkpoint database is corrupt
├── ForkServerDied          the process that forks workers has died
├── VerdictError            a reviewer's answer is not a verdict (also a ValueError)
├── StrictJsonError         a text is not exactly one JSON value (also a ValueError)
├── EditRefused             an edit does not apply (also a ValueError)
├── FileRefused             a file cannot be shown to a model
└── CaseError               a calibration case is unusable (also a ValueError)

Signals are not errors; they end a step early on purpose:

Exception
├── ItemInterrupted         the item was interrupted and has saved its state
├── Paused                  the item has reached the step it was to pause at
├── Interrupted             a function of the parallel library was stopped
└── OutOfRuns               a trial merge has used all its test runs

A message says what is wrong, with which object, and what to do about it.
"""

from __future__ import annotations

from enum import StrEnum

from agentos.usage import Consumed, RateHeaders


class AgentOSError(Exception):
    """Base class of all errors that AgentOS raises on purpose."""


class UsageError(AgentOSError):
    """The command line or the configuration is invalid."""


class InvalidIdentifier(UsageError, ValueError):
    """An identifier is not safe to use in a file name."""


class ItemError(AgentOSError):
    """One item cannot continue; `failure` is the class it is reported under."""

    failure = "infra"


class BadInput(ItemError):
    """The item's input is unusable."""

    failure = "bad-input"


class ModelFormat(ItemError):
    """A model's answer has the wrong format."""

    failure = "model-format"


class FailureCause(StrEnum):
    """Why a call failed, classified by status and structured body, by words only where
    there is nothing else.
    """

    RATE_LIMIT = "rate-limit"
    """The quota group must wait for a while."""
    QUOTA = "quota"
    """The quota group is unusable until its quota is renewed."""
    BILLING = "billing"
    """The quota group is unusable until somebody pays."""
    AUTH = "auth"
    """The key is refused permanently."""
    NO_ACCESS = "no-access"
    """This key may not use this model; another key may."""
    OVERLOADED = "overloaded"
    """The provider is overloaded, for every key."""
    TRANSIENT = "transient"
    """A retry may succeed."""
    BAD_REQUEST = "bad-request"
    """This request is refused permanently."""
    BAD_ANSWER = "bad-answer"
    """An answer arrived, but it is unusable."""
    BUDGET = "budget"
    """The call could cost more than the budget has left."""
    SECRET = "secret"
    """The prompt or the answer contains a key."""


_FAILURES = {
    FailureCause.AUTH: "auth",
    FailureCause.BILLING: "auth",
    FailureCause.BAD_REQUEST: "provider",
    FailureCause.BAD_ANSWER: "model-format",
    FailureCause.BUDGET: "budget",
    FailureCause.SECRET: "secret",
}


class ProviderError(AgentOSError):
    """A provider did not return a usable completion.

    `failure` is the class that the item is reported under if it fails. `delay` is the
    number of seconds that the provider asked to wait, None when it named none. The
    limits are those per minute that its answer names, 0 when it names none;
    `rate_headers` are the ones its headers name. `consumed` is what the call used;
    None means the usual amount for its cause: nothing for a refusal, up to the whole
    reservation for an answer that was lost or unusable.
    """

    def __init__(
        self,
        message: str,
        failure: str = "",
        *,
        cause: FailureCause = FailureCause.TRANSIENT,
        delay: float | None = None,
        requests_limit: int = 0,
        tokens_limit: int = 0,
        input_limit: int = 0,
        consumed: Consumed | None = None,
        rate_headers: RateHeaders | None = None,
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.delay = delay
        self.requests_limit = requests_limit
        self.tokens_limit = tokens_limit
        self.input_limit = input_limit
        self.consumed = consumed
        self.rate_headers = rate_headers
        self.failure = failure or _FAILURES.get(cause, "provider")

    def detached(self) -> ProviderError:
        """Return a copy without traceback and chained errors, which may hold a key."""
        return ProviderError(
            str(self),
            self.failure,
            cause=self.cause,
            delay=self.delay,
            requests_limit=self.requests_limit,
            tokens_limit=self.tokens_limit,
            input_limit=self.input_limit,
            consumed=self.consumed,
            rate_headers=self.rate_headers,
        )


class RateLimited(ProviderError):
    """The provider asked to wait `delay` seconds before the next call with this key."""

    def __init__(self, message: str, delay: float) -> None:
        super().__init__(message, cause=FailureCause.RATE_LIMIT, delay=delay)


class CheckpointCorrupt(AgentOSError):
    """A checkpoint database is corrupt."""
