"""Read keys from the environment and from the key file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from agentos.errors import UsageError
from agentos.gateway.keys import Key
from agentos.gateway.keys.entries import check_base_url, make_key
from agentos.gateway.keys.file import read_document
from agentos.gateway.keys.groups import find_unused, share_limits
from agentos.gateway.providers import ProviderRecord
from agentos.gateway.providers.records import BUILT_IN
from agentos.state.redaction import is_secret

LIMIT_VARIABLE = "AGENTOS_CREDENTIAL_LIMIT"
_NUMBER = re.compile("[0-9]{1,9}")
_Environment = Mapping[str, str]
_Found = list[tuple[str, str]]
"""Keys with the source of each, source first."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """All keys, and warnings about them for the user."""

    keys: tuple[Key, ...] = ()
    problems: tuple[str, ...] = ()


def read_keys(
    environ: _Environment,
    home: Path,
    addresses: Mapping[str, str] | None = None,
    others: Iterable[ProviderRecord] = (),
) -> Keyring:
    """Read the keys of the environment and of the key file, or raise `UsageError`.

    `addresses` are the base URLs by provider for keys without one of their own.
    `others` are the providers of other packages whose variables are read too. No
    message contains a key.
    """
    addresses = addresses or {}
    records = {**BUILT_IN}
    records |= {record.name: record for record in others}
    problems: list[str] = []
    document = read_document(home)
    given = dict(environ)
    for provider, url in addresses.items():
        if provider in records:
            given.setdefault(records[provider].base_url_variable, url)
    found: list[Key] = []
    for record in records.values():
        found += _read_environment(record, given, problems)
    found += document.keys
    for position, key in enumerate(found):
        found[position] = _with_address(key, addresses)
    for record in records.values():
        found += _read_keyless_server(record, given, found)
    distinct = _drop_duplicates(found, problems)
    keys = share_limits(distinct, document.groups)
    problems += find_unused(keys, document.groups)
    for key in keys:
        problems += _find_cleartext(key)
    kept = _keep_first(keys, given, problems)
    for key in kept:
        problems += _find_placeholder(key)
    return Keyring(kept, tuple(problems))


def _read_environment(
    record: ProviderRecord, environ: _Environment, problems: list[str]
) -> Iterator[Key]:
    if not record.key_variable:
        return
    given = _read_variables(environ, record.key_variable)
    if record.fallback_variable:
        given = _weigh_fallback(record, given, environ, problems)
    base_url = environ.get(record.base_url_variable, "")
    for source, secret in given:
        yield _make(record, source, secret, base_url)


def _with_address(key: Key, addresses: Mapping[str, str]) -> Key:
    if key.base_url:
        return key
    base_url = addresses.get(key.provider, "")
    return replace(key, base_url=base_url)


def _read_variables(environ: _Environment, variable: str) -> _Found:
    """Return the keys in `VARIABLE`, `VARIABLE_1`... and `VARIABLES` by source."""
    numbered = []
    for name in environ:
        stem, _, suffix = name.rpartition("_")
        if stem == variable and _NUMBER.fullmatch(suffix):
            numbered.append((int(suffix), name))
    # The unnumbered variable comes first.
    numbered.append((-1, variable))
    numbered.sort()
    found = []
    for _, name in numbered:
        secret = environ.get(name)
        if secret:
            found.append((name, secret))
    listed = environ.get(f"{variable}S", "")
    parts = map(str.strip, listed.split(","))
    secrets = filter(None, parts)
    for number, secret in enumerate(secrets, 1):
        source = f"{variable}S, key {number}"
        found.append((source, secret))
    return found


def _weigh_fallback(
    record: ProviderRecord,
    given: _Found,
    environ: _Environment,
    problems: list[str],
) -> _Found:
    """Use the fallback variable only if no other one is set."""
    other = record.fallback_variable
    fallback = environ.get(other, "")
    if not fallback:
        return given
    if not given:
        problems.append(
            f"{other} is used for {record.name}, as {record.key_variable} is not set"
        )
        return [(other, fallback)]
    secrets = [secret for _, secret in given]
    if fallback not in secrets:
        variable = given[0][0]
        problems.append(
            f"{variable} is used for {record.name}, and {other}, which is set too, is"
            " not"
        )
    return given


def _read_keyless_server(
    record: ProviderRecord, environ: _Environment, found: Sequence[Key]
) -> Iterator[Key]:
    """Yield a server that is given by its address alone, when no key is for it."""
    if not record.is_keyless_elsewhere:
        return
    variable = record.base_url_variable
    address = environ.get(variable)
    providers = {key.provider for key in found}
    if address and record.name not in providers:
        yield _make(record, variable, "", address)


def _make(record: ProviderRecord, source: str, secret: str, base_url: str) -> Key:
    fields = {"provider": record.name}
    if secret:
        fields["key"] = secret
    if base_url:
        fields["base_url"] = base_url
        # Checked separately, so that an error names the variable with the address.
        try:
            check_base_url(base_url)
        except ValueError as error:
            raise UsageError(f"{record.base_url_variable}: {error}") from None
    return make_key(fields, source)


def _drop_duplicates(found: Sequence[Key], problems: list[str]) -> list[Key]:
    firsts: dict[str, Key] = {}
    for key in found:
        first = firsts.setdefault(key.fingerprint, key)
        if first is key:
            continue
        if key.base_url != first.base_url:
            problems.append(
                f"{key.source}: has the same key as {first.source} and is not used;"
                " give each server a key of its own, any word where it asks for none"
            )
        elif replace(key, source=first.source) != first:
            problems.append(
                f"{key.source}: is the same key as {first.source}; its group and limits"
                " are not used"
            )
    return list(firsts.values())


def _find_cleartext(key: Key) -> Iterator[str]:
    base_url = key.base_url.lower()
    is_http = base_url.startswith("http:")
    if not key.secret or not is_http:
        return
    address = urlsplit(key.base_url)
    host = address.hostname or ""
    is_named = host in ("localhost", "::1")
    if is_named or host.startswith("127."):
        return
    yield (
        f"{key.source}: its base_url is http, so the key crosses the network"
        " readable by others; use https"
    )


def _find_placeholder(key: Key) -> Iterator[str]:
    if not key.secret or is_secret(key.secret):
        return
    yield (
        f"{key.provider}: {key.source} looks like a placeholder, not like a key; "
        "it is sent as it is and not hidden in output"
    )


def _keep_first(
    keys: tuple[Key, ...], environ: _Environment, problems: list[str]
) -> tuple[Key, ...]:
    given = environ.get(LIMIT_VARIABLE, "")
    text = given.strip()
    if not text:
        return keys
    is_number = _NUMBER.fullmatch(text)
    limit = int(text) if is_number else 0
    if limit == 0:
        raise UsageError(f"{LIMIT_VARIABLE}: must be a whole number from 1 up")
    if limit < len(keys):
        total = len(keys)
        problem = f"{LIMIT_VARIABLE}: {limit} of {total} keys are used"
        problems.append(problem)
    return keys[:limit]
