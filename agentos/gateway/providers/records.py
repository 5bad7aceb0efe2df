"""What AgentOS knows about a provider, and the record of each built-in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentos.state.key_shapes import GOOGLE_SHAPE, SK_SHAPE, KeyShape

OFFLINE = "offline"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRecord:
    """The facts about one provider. One without keys needs only `name` and `factory`."""

    name: str
    """The part before the colon in `--drafter name:model`."""
    factory: str
    """Where a function or class is that takes the text after the colon and returns the
    provider, as `module:name`. Imported when a call is to be made.
    """
    extra: str = ""
    """The extra of agentos that installs its SDK."""
    family: str = ""
    """Family of all its models; without one, the name of the model decides."""
    key_variable: str = ""
    """Environment variable with its key; with `_1`, `_2`... or `S` added for more."""
    fallback_variable: str = ""
    """Environment variable that is read when the first one is not set."""
    takes_keys: bool = False
    """Whether it can use keys although it has no variable for them."""
    key_shape: KeyShape | None = None
    """What its keys look like; text of that shape is never shown."""
    base_url_variable: str = ""
    """Environment variable with another address for it."""
    is_keyless_elsewhere: bool = False
    """Whether servers at another address may do without a key."""
    price_id: str = ""
    """The provider in `genai-prices` that its calls are priced as."""
    cache_write_percent: int = 100
    """What input that is written to the cache costs, in percent of other input, where
    a price does not say it.
    """
    free_because: str = ""
    """Why its calls cost nothing; with a key, a `price_id` counts instead. Without any
    keys, they are free anyway.
    """
    lacks: tuple[str, ...] = ()
    """Which of the settings `effort`, `thinking` and `temperature` it ignores."""
    other_names: tuple[str, ...] = ()
    """What people call it too, for suggestions."""

    @property
    def has_keys(self) -> bool:
        """Whether keys can be added for it."""
        return self.takes_keys or bool(self.key_variable)


# In the order in which keys of the environment are used.
_RECORDS = (
    ProviderRecord(
        name="gemini",
        factory="agentos.gateway.providers.gemini:create",
        extra="gemini",
        family="gemini",
        key_variable="GEMINI_API_KEY",
        # The SDK itself would prefer this one.
        fallback_variable="GOOGLE_API_KEY",
        key_shape=GOOGLE_SHAPE,
        base_url_variable="GOOGLE_GEMINI_BASE_URL",
        price_id="google",
        other_names=("google", "vertex"),
    ),
    ProviderRecord(
        name="anthropic",
        factory="agentos.gateway.providers.anthropic:create",
        extra="anthropic",
        family="claude",
        key_variable="ANTHROPIC_API_KEY",
        key_shape=SK_SHAPE,
        base_url_variable="ANTHROPIC_BASE_URL",
        price_id="anthropic",
        cache_write_percent=125,
        other_names=("claude",),
    ),
    ProviderRecord(
        name="openai",
        factory="agentos.gateway.providers.openai:create",
        extra="openai",
        key_variable="OPENAI_API_KEY",
        key_shape=SK_SHAPE,
        base_url_variable="OPENAI_BASE_URL",
        is_keyless_elsewhere=True,
        price_id="openai",
        lacks=("thinking",),
        other_names=("chatgpt", "gpt", "ollama", "vllm"),
    ),
    ProviderRecord(
        name="claude-cli",
        factory="agentos.gateway.providers.claude_cli:create",
        family="claude",
        takes_keys=True,
        key_shape=SK_SHAPE,
        # With a key of ours, Anthropic bills the command.
        price_id="anthropic",
        cache_write_percent=125,
        extra="anthropic",
        free_because="paid for by the login of claude itself",
        lacks=("temperature",),
    ),
    ProviderRecord(
        name=OFFLINE,
        factory="agentos.gateway.providers.offline:create",
        free_because="offline answers cost nothing",
        lacks=("effort", "thinking", "temperature"),
    ),
)
BUILT_IN: Mapping[str, ProviderRecord] = {record.name: record for record in _RECORDS}
KEY_PROVIDERS = tuple(sorted(name for name in BUILT_IN if BUILT_IN[name].has_keys))
"""Names of the built-in providers that take keys."""
