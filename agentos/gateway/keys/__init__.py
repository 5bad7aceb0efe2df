"""API keys: where they are read from, and the pool that leases them to calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Protocol

from agentos.errors import ProviderError
from agentos.gateway.providers import Completion, Credential
from agentos.state.redaction import fingerprint

DEFAULT_MAX_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Key:
    """A key and its quota group, to which its limits apply."""

    provider: str
    secret: str = field(repr=False)
    group: str
    """Keys of one project or organization share their limits; by default, a key has a
    group of its own.
    """
    max_parallel: int = DEFAULT_MAX_PARALLEL
    """Maximum number of simultaneous calls with this key."""
    base_url: str = ""
    requests_per_minute: int = 0
    """Limit of the group; with 0 it is learned."""
    tokens_per_minute: int = 0
    models: tuple[str, ...] = ()
    """Names of the models that it serves, with `*` for any part; all without one."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Headers that its calls send too."""
    body: str = ""
    """A JSON object whose fields the body of its calls has too."""
    api_version: str = ""
    """Version of the API instead of the usual one."""
    source: str = ""
    """Where the key was found, for messages: `GEMINI_API_KEY_2`, `keys.toml, key 3`."""

    @property
    def fingerprint(self) -> str:
        """Name of the key that does not reveal it."""
        return fingerprint(self.provider, self.secret or self.base_url)

    @property
    def credential(self) -> Credential:
        """Credential for a call to the provider."""
        return Credential(
            self.secret, self.base_url, self.headers, self.body, self.api_version
        )

    def serves(self, model: str) -> bool:
        """Return whether it may be used for a model."""
        return not self.models or any(fnmatchcase(model, name) for name in self.models)


@dataclass(frozen=True, slots=True)
class KeyRequest:
    """What a call needs a key for."""

    provider: str
    model: str
    tokens: int
    """Expected tokens, input and output together."""
    output: int = 0
    """Expected output tokens among them."""
    group: str = ""
    """Quota group that is preferred, as its cache has the conversation so far."""


NO_REQUEST = KeyRequest("", "", 0)


@dataclass(frozen=True, slots=True)
class Lease:
    """A key leased to one call, or no key when none is needed."""

    key: Key | None = None
    request: KeyRequest = NO_REQUEST
    number: int = 0
    """Name of the lease in its pool."""
    started: float = 0.0
    waited: float = 0.0
    """Seconds that the call has waited for the key."""


class KeyPool(Protocol):
    """Lends keys to calls in order of arrival and within all limits.

    Every lease ends with exactly one of `succeed`, `fail` and `give_back`. A pool
    belongs to the gateway's event loop; only `parallelism` is called by other threads.
    """

    def credentials(self, provider: str) -> list[Credential]:
        """Return the credentials for calls to a provider."""

    async def lease(
        self,
        provider: str,
        model: str,
        tokens: int,
        label: str,
        *,
        output: int = 0,
        group: str = "",
    ) -> Lease:
        """Wait for a key for a call of so many expected tokens, including its output,
        from the given quota group if it has room. Return a lease without a key if the
        provider has none. Raise `ProviderError` if no key will ever come.
        """

    def mark_sent(self, lease: Lease) -> None:
        """Record that a delayed call is sent only now."""

    def succeed(self, lease: Lease, completion: Completion) -> None:
        """Take a key back after an answer, and apply the limits that the answer names."""

    def fail(self, lease: Lease, error: ProviderError) -> None:
        """Take a key back after a failed call, and apply the error to the key, its
        group or the model.
        """

    def give_back(self, lease: Lease) -> None:
        """Take back an unused key."""

    def parallelism(self, wanted: int) -> int:
        """Return how many items can run at once with the keys that are usable now."""

    def close(self) -> None:
        """Give all leased keys back."""
