"""API keys: where they come from, and the pool that lends them to calls."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from agentos.providers import Credential

DEFAULT_MAX_PARALLEL = 8


@dataclass(frozen=True, slots=True)
class Key:
    """One key and the quota group it belongs to: limits are those of the group, not of the key."""

    provider: str
    secret: str = field(repr=False)
    group: str
    """Keys of one project or organisation share their limits; unless it is told, a key is a group of its own."""
    max_parallel: int = DEFAULT_MAX_PARALLEL
    """Calls that may be under way with this key at once."""
    base_url: str = ""
    requests_per_minute: int = 0
    """Limit of the group, 0 when it is not told: then it is learned."""
    tokens_per_minute: int = 0
    source: str = ""
    """Where the key was found, for messages: `GEMINI_API_KEY_2`, `keys.toml, key 3`."""

    @property
    def fingerprint(self) -> str:
        """A name for the key that does not tell it."""
        return fingerprint(self.provider, self.secret or self.base_url)

    @property
    def credential(self) -> Credential:
        """What a provider is asked with."""
        return Credential(self.secret, self.base_url)


def fingerprint(provider: str, secret: str) -> str:
    """Return a short name for a key that does not tell it: `gemini-3fa1c27b`."""
    return f"{provider}-{hashlib.sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
