"""Check the fields of keys and groups; no message quotes a value, since it may be a
key.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agentos.errors import UsageError
from agentos.gateway.keys import DEFAULT_MAX_PARALLEL, Key
from agentos.gateway.providers.records import BUILT_IN, KEY_PROVIDERS
from agentos.gateway.providers.registry import find_record, installed_names
from agentos.state.redaction import fingerprint

LONGEST_KEY = 4_096
LONGEST_NAME = 200
LONGEST_WORD = 24
MOST_PARALLEL = 1_000
MOST_PER_MINUTE = 1_000_000_000
MOST_ENTRIES = 100
_HEADER = re.compile("[A-Za-z0-9-]{1,100}")
_VERSION = re.compile("[A-Za-z0-9._-]{1,50}")
_OWN_HEADERS = frozenset(
    {
        *("authorization", "x-api-key", "x-goog-api-key", "api-key", "host"),
        *("content-length", "content-type", "accept-encoding", "connection"),
        *("transfer-encoding", "anthropic-version"),
    }
)
_OWN_FIELDS = frozenset(
    {
        *("model", "messages", "contents", "system", "stream", "stream_options"),
        *("max_tokens", "max_completion_tokens", "response_format", "output_config"),
    }
)

_OTHER_NAMES = {
    "api_key": "key",
    "secret": "key",
    "token": "key",
    "url": "base_url",
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
}
for _record in BUILT_IN.values():
    _OTHER_NAMES |= dict.fromkeys(_record.other_names, _record.name)

_Fields = Mapping[str, Any]
_Checks = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True, slots=True)
class Group:
    """A quota group with a table of its own."""

    provider: str
    name: str
    requests_per_minute: int
    tokens_per_minute: int
    source: str


def check_provider(given: Any) -> str:
    """Return the name of a provider that takes keys.

    A name of another package is not looked into: it may be broken, and this run may not
    use it.
    """
    if given in KEY_PROVIDERS:
        return str(given)
    if given is None:
        raise ValueError(f"provider is missing; give one of {', '.join(KEY_PROVIDERS)}")
    installed = installed_names()
    if given in installed:
        return str(given)
    raise ValueError(name_unknown("provider", given, (*KEY_PROVIDERS, *installed)))


def is_optional_key(provider: str, base_url: str) -> bool:
    """Return whether a server at this address may be asked without a key."""
    return bool(base_url) and find_record(provider).is_keyless_elsewhere


def check_secret(given: Any) -> str:
    """Return a key that can be sent in a header."""
    if not isinstance(given, str):
        raise ValueError("the key must be text in quotes; put it between double quotes")
    if not given:
        raise ValueError("the key is empty; paste the whole key")
    if len(given) > LONGEST_KEY:
        raise ValueError(
            f"the key is over {LONGEST_KEY:,} characters long; paste the key alone"
        )
    if not (given.isascii() and given.isprintable()) or " " in given:
        raise ValueError(
            "the key has blanks, control characters or letters that no key has; paste"
            " the key alone"
        )
    return given


def check_base_url(given: Any) -> str:
    """Return an HTTP address without a password or anything else that may be secret."""
    if (
        not isinstance(given, str)
        or len(given) > LONGEST_KEY
        or not given.isascii()
        or not given.isprintable()
    ):
        raise ValueError(
            "base_url must be an address such as http://127.0.0.1:11434/v1"
        )
    try:
        parts = urlsplit(given)
        is_address = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:
        is_address = False
    if not is_address or any(char in given for char in " \\\"'<>"):
        raise ValueError(
            "base_url must be an http or https address such as"
            " http://127.0.0.1:11434/v1"
        )
    if "@" in parts.netloc:
        raise ValueError(
            "base_url holds a user name or password; leave it out and give the key"
            " as key"
        )
    if "?" in given or "#" in given:
        raise ValueError(
            "base_url must end with its path; leave out what follows ? or #"
        )
    return given


def check_name(given: Any) -> str:
    """Return the name of a group."""
    if (
        not isinstance(given, str)
        or not given.strip()
        or len(given) > LONGEST_NAME
        or not given.isprintable()
    ):
        raise ValueError(
            f"the name of a group must be 1 to {LONGEST_NAME} printable characters in"
            " quotes"
        )
    return given


def check_whole(field: str, most: int) -> Callable[[Any], int]:
    """Return a check for a whole number from 1 to `most`."""

    def check(given: Any) -> int:
        if (
            not isinstance(given, int)
            or isinstance(given, bool)
            or not 1 <= given <= most
        ):
            raise ValueError(f"{field} must be a whole number from 1 to {most:,}")
        return given

    return check


def check_models(given: Any) -> tuple[str, ...]:
    """Return the names of the models that a key serves."""
    is_list = isinstance(given, list) and bool(given) and len(given) <= MOST_ENTRIES
    if not is_list or not all(map(_is_short_text, given)):
        raise ValueError(
            'models must be a list of names, as models = ["gpt-5.5", "llama*"]'
        )
    return tuple(given)


def check_headers(given: Any) -> tuple[tuple[str, str], ...]:
    """Return headers by name; the key itself is not one of them."""
    example = 'headers must be a table of texts, as headers = { x-team = "search" }'
    if not isinstance(given, dict) or len(given) > MOST_ENTRIES:
        raise ValueError(example)
    for name, value in given.items():
        if not _HEADER.fullmatch(name) or not _is_short_text(value):
            raise ValueError(example)
        if not value.isascii():
            raise ValueError(example)
        if name.lower() in _OWN_HEADERS:
            raise ValueError(
                f"headers must not have {name.lower()}, which AgentOS sets; give the key"
                " as key"
            )
    return tuple(given.items())


def check_body(given: Any) -> str:
    """Return the fields to add to the body of a request, as JSON."""
    example = "body must be a table of what JSON can hold, as body = { top_k = 20 }"
    if not isinstance(given, dict):
        raise ValueError(example)
    own = sorted(_OWN_FIELDS & given.keys())
    if own:
        raise ValueError(f"body must not have {own[0]}, which AgentOS sets")
    try:
        text = json.dumps(given, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(example) from None
    if len(text) > LONGEST_KEY:
        raise ValueError(f"body must not be over {LONGEST_KEY:,} characters long")
    return text


def check_version(given: Any) -> str:
    """Return the version of an API."""
    if not isinstance(given, str) or not _VERSION.fullmatch(given):
        raise ValueError("api_version must be a text such as v1beta or 2025-04-01")
    return given


def _is_short_text(given: Any) -> bool:
    return (
        isinstance(given, str) and 0 < len(given) <= LONGEST_KEY and given.isprintable()
    )


_LIMITS: _Checks = {
    name: check_whole(name, MOST_PER_MINUTE)
    for name in ("requests_per_minute", "tokens_per_minute")
}
KEY_FIELDS: _Checks = {
    "provider": check_provider,
    "key": check_secret,
    "group": check_name,
    "max_parallel": check_whole("max_parallel", MOST_PARALLEL),
    "base_url": check_base_url,
    "models": check_models,
    "headers": check_headers,
    "body": check_body,
    "api_version": check_version,
    **_LIMITS,
}
GROUP_FIELDS: _Checks = {
    "name": check_name,
    "provider": check_provider,
    **_LIMITS,
}


def make_key(fields: _Fields, source: str) -> Key:
    """Create a key from its fields, or raise `UsageError` naming the source."""
    checked = _check_fields(fields, KEY_FIELDS, source)
    provider, base_url = checked.get("provider", ""), checked.get("base_url", "")
    if not provider:
        raise UsageError(
            f"{source}: provider is missing; give one of {', '.join(KEY_PROVIDERS)}"
        )
    if "key" not in checked and not is_optional_key(provider, base_url):
        raise UsageError(
            f"{source}: key is missing; add it (only openai with a base_url can do"
            " without one)"
        )
    secret = checked.get("key", "")
    return Key(
        provider=provider,
        secret=secret,
        group=checked.get("group") or default_group(provider, secret, base_url),
        max_parallel=checked.get("max_parallel", DEFAULT_MAX_PARALLEL),
        base_url=base_url,
        requests_per_minute=checked.get("requests_per_minute", 0),
        tokens_per_minute=checked.get("tokens_per_minute", 0),
        models=checked.get("models", ()),
        headers=checked.get("headers", ()),
        body=checked.get("body", ""),
        api_version=checked.get("api_version", ""),
        source=source,
    )


def default_group(provider: str, secret: str, base_url: str) -> str:
    """Return the group of a key without one: a group of its own."""
    return fingerprint(provider, secret) if secret else base_url


def make_group(fields: _Fields, source: str) -> Group:
    """Create a group from its fields, or raise `UsageError` naming the source."""
    checked = _check_fields(fields, GROUP_FIELDS, source)
    for field in ("name", "provider"):
        if field not in checked:
            raise UsageError(f"{source}: {field} is missing; add it")
    return Group(
        checked["provider"],
        checked["name"],
        checked.get("requests_per_minute", 0),
        checked.get("tokens_per_minute", 0),
        source,
    )


def name_unknown(what: str, given: Any, known: Iterable[str]) -> str:
    """Return a message about an unknown field, table or provider, with a suggestion."""
    known = tuple(known)
    if isinstance(given, str) and given.lower() in known:
        return f"the {what} {given.lower()!r} must be written in small letters"
    hint = f"known are {', '.join(known)}"
    if not _is_plain_word(given):
        return f"there is a {what} that does not exist; {hint}"
    meant = _OTHER_NAMES.get(given) or next(
        iter(difflib.get_close_matches(given, known, n=1)), ""
    )
    return f"unknown {what} {given!r}; " + (
        f"did you mean {meant!r}?" if meant in known else hint
    )


def _check_fields(fields: _Fields, known: _Checks, source: str) -> _Fields:
    checked = {}
    for field, value in fields.items():
        if field not in known:
            raise UsageError(f"{source}: {name_unknown('field', field, known)}")
        try:
            checked[field] = known[field](value)
        except ValueError as error:
            raise UsageError(f"{source}: {error}") from None
    return checked


def _is_plain_word(given: Any) -> bool:
    """Return whether it is a typed word rather than a key pasted into the wrong place."""
    return (
        isinstance(given, str)
        and 0 < len(given) <= LONGEST_WORD
        and all("a" <= char <= "z" or char in "_-" for char in given)
    )
