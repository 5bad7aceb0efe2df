"""Where keys come from: the environment first, then the key file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from agentos.errors import UsageError
from agentos.keys import Key
from agentos.keys.entries import KEYLESS_PROVIDER, make_key
from agentos.keys.file import read_document
from agentos.keys.groups import find_unused, share_limits
from agentos.redaction import is_secret

LIMIT_VARIABLE = "AGENTOS_CREDENTIAL_LIMIT"
FALLBACK_VARIABLE = "GOOGLE_API_KEY"
VARIABLES = {"gemini": "GEMINI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
BASE_URL_VARIABLES = {
    "gemini": "GOOGLE_GEMINI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
}


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys there are, and what a person should be told about them."""

    keys: tuple[Key, ...] = ()
    problems: tuple[str, ...] = ()


def read_keys(environ: Mapping[str, str], home: Path, addresses: Mapping[str, str] | None = None) -> Keyring:
    """Collect the keys of the environment and of the key file, or raise `UsageError`; no message tells a key.

    `addresses` are where providers are asked, by name, for keys that do not say so themselves.
    """
    problems: list[str] = []
    document = read_document(home)
    environ = {**{BASE_URL_VARIABLES[name]: url for name, url in (addresses or {}).items()}, **environ}
    found = [*_read_environment(environ, problems), *document.keys]
    found = [_with_address(key, addresses or {}) for key in found]
    found += _read_keyless_server(environ, found)
    keys = share_limits(_drop_twins(found, problems), document.groups)
    problems += find_unused(keys, document.groups)
    problems += [problem for key in keys for problem in _find_open_road(key)]
    kept = _keep_first(keys, environ, problems)
    problems += [problem for key in kept for problem in _find_placeholder(key)]
    return Keyring(kept, tuple(problems))


def _read_environment(environ: Mapping[str, str], problems: list[str]) -> Iterator[Key]:
    for provider, variable in VARIABLES.items():
        given = list(_read_variables(environ, variable))
        if provider == "gemini":
            given = _weigh_fallback(given, environ, problems)
        base_url = environ.get(BASE_URL_VARIABLES[provider], "")
        for source, secret in given:
            yield _make(provider, source, secret, base_url)


def _with_address(key: Key, addresses: Mapping[str, str]) -> Key:
    return key if key.base_url else replace(key, base_url=addresses.get(key.provider, ""))


def _read_variables(environ: Mapping[str, str], variable: str) -> Iterator[tuple[str, str]]:
    numbered = sorted(
        (int(suffix), name)
        for name in environ
        if name.startswith(f"{variable}_")
        and (suffix := name.removeprefix(f"{variable}_")).isascii()
        and suffix.isdigit()
        and len(suffix) <= 9
    )
    for name in (variable, *(name for _, name in numbered)):
        if environ.get(name):
            yield name, environ[name]
    listed = [part.strip() for part in environ.get(f"{variable}S", "").split(",")]
    for number, secret in enumerate(filter(None, listed), 1):
        yield f"{variable}S, key {number}", secret


def _weigh_fallback(
    given: list[tuple[str, str]], environ: Mapping[str, str], problems: list[str]
) -> list[tuple[str, str]]:
    """Take Google's other variable only when there is none of Gemini's own; its SDK would prefer it."""
    fallback = environ.get(FALLBACK_VARIABLE, "")
    if not fallback:
        return given
    if not given:
        problems.append(f"{FALLBACK_VARIABLE} is used for gemini, as GEMINI_API_KEY is not set")
        return [(FALLBACK_VARIABLE, fallback)]
    if fallback not in (secret for _, secret in given):
        problems.append(f"{given[0][0]} is used for gemini, and {FALLBACK_VARIABLE}, which is set too, is not")
    return given


def _read_keyless_server(environ: Mapping[str, str], found: Sequence[Key]) -> Iterator[Key]:
    """Take a server that is named by its address alone, when there is no other key for it."""
    variable = BASE_URL_VARIABLES[KEYLESS_PROVIDER]
    if environ.get(variable) and not any(key.provider == KEYLESS_PROVIDER for key in found):
        yield _make(KEYLESS_PROVIDER, variable, "", environ[variable])


def _make(provider: str, source: str, secret: str, base_url: str) -> Key:
    if base_url:
        # On its own, so that a fault of the address is told with the variable that holds it.
        make_key({"provider": KEYLESS_PROVIDER, "base_url": base_url}, BASE_URL_VARIABLES[provider])
    fields = {"provider": provider, "key": secret, "base_url": base_url}
    return make_key({name: value for name, value in fields.items() if value}, source)


def _drop_twins(found: Sequence[Key], problems: list[str]) -> list[Key]:
    firsts: dict[str, Key] = {}
    for key in found:
        first = firsts.setdefault(key.fingerprint, key)
        if first is key:
            continue
        if key.base_url != first.base_url:
            problems.append(
                f"{key.source}: has the same key as {first.source} and is not used; give each server a key of its own, "
                "any word where it asks for none"
            )
        elif _terms(key) != _terms(first):
            problems.append(f"{key.source}: is the same key as {first.source}; its group and limits are not used")
    return list(firsts.values())


def _terms(key: Key) -> tuple[str, int, int, int]:
    return key.group, key.max_parallel, key.requests_per_minute, key.tokens_per_minute


def _find_open_road(key: Key) -> Iterator[str]:
    if key.secret and key.base_url.lower().startswith("http:"):
        host = urlsplit(key.base_url).hostname or ""
        if host not in ("localhost", "::1") and not host.startswith("127."):
            yield f"{key.source}: its base_url is http, so the key crosses the network readable by others; use https"


def _find_placeholder(key: Key) -> Iterator[str]:
    if key.secret and not is_secret(key.secret):
        yield (
            f"{key.provider}: {key.source} looks like a placeholder, not like a key; "
            "it is sent as it is and not hidden in output"
        )


def _keep_first(keys: tuple[Key, ...], environ: Mapping[str, str], problems: list[str]) -> tuple[Key, ...]:
    text = environ.get(LIMIT_VARIABLE, "").strip()
    if not text:
        return keys
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0):
        raise UsageError(f"{LIMIT_VARIABLE}: must be a whole number from 1 up")
    if int(text) < len(keys):
        problems.append(f"{LIMIT_VARIABLE}: {int(text)} of {len(keys)} keys are used")
    return keys[: int(text)]
