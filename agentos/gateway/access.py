"""Open the gateway of a run: its keys, prices, caps and journal; refuse early what
could not work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentos.errors import UsageError
from agentos.gateway.journal import Journal
from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys import Key, KeyPool
from agentos.gateway.keys.choice import describe_unserved
from agentos.gateway.keys.pool import MINUTE, Pool
from agentos.gateway.keys.sources import LIMIT_VARIABLE, Keyring, read_keys
from agentos.gateway.keys.store import Store
from agentos.gateway.prices import (
    ANY_MODEL,
    Price,
    parse_price,
    price_of,
    use_newer_prices,
)
from agentos.gateway.providers import (
    ModelSpec,
    ProviderRecord,
    create_provider,
    parse_model_spec,
)
from agentos.gateway.providers.records import BUILT_IN, OFFLINE
from agentos.gateway.providers.registry import find_record
from agentos.state.home import JOURNAL_FILE
from agentos.state.redaction import register_key

KEYS_FILE = "keys.toml"
POOL_FILE = "pool.db"
SIMULATE_429_VARIABLE = "AGENTOS_SIMULATE_429"
WINDOW_VARIABLE = "AGENTOS_RATE_WINDOW"
SIMULATED_KEYS = 3

_Environment = Mapping[str, str]
_Announce = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class GivenPrices:
    """Prices given by the user or a repository, by `provider:model`."""

    by_user: Mapping[str, Price] = field(default_factory=dict)
    at_least: Mapping[str, Price] = field(default_factory=dict)
    """Given by an untrusted repository: they apply where they are higher."""

    @classmethod
    def read(cls, by_user: Sequence[str], at_least: Sequence[str] = ()) -> GivenPrices:
        """Parse prices."""
        users = map(parse_price, by_user)
        floors = map(parse_price, at_least)
        return cls(dict(users), dict(floors))


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """Models, keys and prices of a run, complete before anything starts."""

    models: tuple[ModelSpec, ...]
    keys: tuple[Key, ...]
    prices: Mapping[str, Price]
    """By `provider:model` as given by the user."""
    warnings: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Base URLs by provider, for keys without one of their own."""

    @property
    def is_offline(self) -> bool:
        """Whether no call leaves this machine."""
        return all(spec.provider == OFFLINE for spec in self.models)

    def price(self, spec: ModelSpec) -> Price:
        """Return the price of a model."""
        return self.prices[str(spec)]


def gather_access(
    models: Sequence[str],
    environ: _Environment,
    home: Path,
    prices: GivenPrices,
    addresses: Mapping[str, str] | None = None,
) -> ModelAccess:
    """Read keys and prices for these models, or raise `UsageError` naming what is
    missing.
    """
    parsed = map(parse_model_spec, models)
    specs = tuple(dict.fromkeys(parsed))
    providers = {spec.provider for spec in specs}
    # Creating a provider also checks the options in its spec.
    needs_key = {spec: create_provider(spec).needs_key for spec in specs}
    if providers == {OFFLINE}:
        keys = _simulated_keys(environ)
        known = _prices(specs, GivenPrices(), ())
        return ModelAccess(specs, keys, known)
    use_newer_prices(home)
    addresses = addresses or {}
    keyring = read_keys(environ, home, addresses, _others(specs))
    keys = _keys_for(keyring, providers)
    with_key = {key.provider for key in keys}
    for spec in specs:
        if needs_key[spec] and spec.provider not in with_key:
            variable = find_record(spec.provider).key_variable
            way = f"set {variable} or " if variable else ""
            raise UsageError(
                f"{spec}: no {spec.provider} key; {way}run: agentos keys add"
                f" {spec.provider}"
            )
        if spec.provider in with_key and not _is_served(spec, keys):
            raise UsageError(describe_unserved(spec.provider, spec.model))
    known = _prices(specs, prices, keys)
    return ModelAccess(specs, keys, known, keyring.problems, addresses)


def open_pool(
    access: ModelAccess,
    environ: _Environment,
    home: Path,
    announce: _Announce,
) -> KeyPool:
    """Open the pool of a run; simulated keys get a private pool in memory."""
    is_real = any(key.provider != OFFLINE for key in access.keys)
    if is_real:
        _register(access.keys)
    watch = KeyWatch(access, environ, home, announce)
    simulate_429 = not is_real and _simulates_429(environ)
    return Pool(
        Store(home / POOL_FILE if is_real else ":memory:"),
        watch,
        announce,
        window=_read_window(environ),
        simulate_429=simulate_429,
    )


def open_journal(
    access: ModelAccess, home: Path, run: str, announce: _Announce
) -> Journal:
    """Open the journal; answers of rules cost nothing, so theirs stays in memory."""
    if access.is_offline:
        return MemoryJournal(run)
    from agentos.gateway.journal.sqlite import SqliteJournal

    journal = SqliteJournal(home / JOURNAL_FILE, run)
    if journal.notice:
        announce(journal.notice)
    return journal


def _read_window(environ: _Environment) -> float:
    """Return the length in seconds of a rate limit minute; tests can shorten it."""
    text = environ.get(WINDOW_VARIABLE, "")
    try:
        window = float(text or MINUTE)
    except ValueError:
        window = -1.0
    if not 0 <= window <= MINUTE:
        raise UsageError(f"{WINDOW_VARIABLE}: must be seconds up to 60, not {text!r}")
    return window or MINUTE


class KeyWatch:
    """Return the keys of a run, and again after the key file was edited."""

    def __init__(
        self,
        access: ModelAccess,
        environ: _Environment,
        home: Path,
        announce: _Announce,
    ) -> None:
        self._access = access
        self._environ = environ
        self._home = home
        self._announce = announce
        self._seen: object = None

    def __call__(self) -> Sequence[Key] | None:
        """Return all keys if they may have changed, else None."""
        is_first = self._seen is None
        now = self._look()
        if now == self._seen:
            return None
        self._seen = now
        if is_first:
            return self._access.keys
        try:
            addresses = self._access.addresses
            others = _others(self._access.models)
            keyring = read_keys(self._environ, self._home, addresses, others)
        except UsageError as error:
            self._announce(f"the edited key file is not used: {error}")
            return None
        providers = {spec.provider for spec in self._access.models}
        keys = _keys_for(keyring, providers)
        _register(keys)
        return keys

    def _look(self) -> object:
        try:
            status = os.stat(self._home / KEYS_FILE)  # noqa: PTH116
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


def _others(specs: Sequence[ModelSpec]) -> list[ProviderRecord]:
    """Return the records of the providers that are not built in."""
    names = {spec.provider for spec in specs}
    return [find_record(name) for name in sorted(names - BUILT_IN.keys())]


def _keys_for(keyring: Keyring, providers: set[str]) -> tuple[Key, ...]:
    return tuple(key for key in keyring.keys if key.provider in providers)


def _register(keys: Sequence[Key]) -> None:
    """Redact keys, and headers that look like one, in all output from now on."""
    for key in keys:
        for secret in (key.secret, *dict(key.headers).values()):
            register_key(secret, key.fingerprint)


def _is_served(spec: ModelSpec, keys: Sequence[Key]) -> bool:
    own = [key for key in keys if key.provider == spec.provider]
    return any(key.serves(spec.model) for key in own)


def _prices(
    specs: Sequence[ModelSpec], given: GivenPrices, keys: Sequence[Key]
) -> dict[str, Price]:
    with_key = {key.provider for key in keys}
    prices = {}
    for spec in specs:
        has_key = spec.provider in with_key
        prices[str(spec)] = _price(spec, given, has_key=has_key)
    return prices


def _price(spec: ModelSpec, given: GivenPrices, *, has_key: bool) -> Price:
    price = price_of(spec.provider, spec.model, given.by_user, has_key=has_key)
    any_name = f"{spec.provider}:{ANY_MODEL}"
    name = any_name
    if spec.model:
        name = f"{spec.provider}:{spec.model}"
    floors = given.at_least
    floor = floors.get(name) or floors.get(any_name)
    if price is None:
        hint = ""
        if floor:
            hint = (
                "; this repository names one, which counts once you run: agentos"
                " config trust"
            )
        raise UsageError(
            f"{spec}: its price is not known; give it with --price {name}=IN/OUT, in"
            " dollars for a million tokens in and out (0/0 when it costs nothing), or"
            f" take newer prices with: agentos prices --refresh FILE{hint}"
        )
    if floor:
        return price.raised_to(floor)
    return price


def _simulates_429(environ: _Environment) -> bool:
    text = environ.get(SIMULATE_429_VARIABLE, "")
    return text.lower() in ("1", "true", "yes")


def _simulated_keys(environ: _Environment) -> tuple[Key, ...]:
    """Return keys for the rules, which need none, to simulate a shortage."""
    limit = environ.get(LIMIT_VARIABLE, "")
    if not limit and not _simulates_429(environ):
        return ()
    number = SIMULATED_KEYS
    if limit:
        is_number = limit.isascii() and limit.isdigit()
        number = int(limit) if is_number else 0
    if number == 0:
        raise UsageError(
            f"{LIMIT_VARIABLE}: must be a whole number from 1 up, not {limit!r}"
        )
    keys = []
    for n in range(1, number + 1):
        name = f"simulated {n}"
        key = Key(OFFLINE, f"simulated key {n}", name, 1, source=name)
        keys.append(key)
    return tuple(keys)
