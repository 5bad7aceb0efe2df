"""Open the gateway of a run: its keys, prices, caps and journal; refuse early what could not work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentos.errors import UsageError
from agentos.gateway.journal import Journal, MemoryJournal
from agentos.gateway.prices import ANY_MODEL, Price, parse_price, price_of
from agentos.home import JOURNAL_FILE
from agentos.keys import Key
from agentos.keys.pool import MINUTE, Pool
from agentos.keys.sources import LIMIT_VARIABLE, read_keys
from agentos.keys.store import Store
from agentos.providers import ModelSpec, create_provider, parse_model_spec
from agentos.redaction import register_key
from agentos.settings import read_seconds

KEYS_FILE = "keys.toml"
POOL_FILE = "pool.db"
SIMULATE_429_VARIABLE = "AGENTOS_SIMULATE_429"
WINDOW_VARIABLE = "AGENTOS_RATE_WINDOW"
REHEARSED = "offline"
SIMULATED_KEYS = 3


@dataclass(frozen=True, slots=True)
class GivenPrices:
    """Prices that somebody has named, by `provider:model`."""

    by_user: Mapping[str, Price] = field(default_factory=dict)
    at_least: Mapping[str, Price] = field(default_factory=dict)
    """Named by a repository that is not trusted: they count where they are higher."""

    @classmethod
    def read(cls, by_user: Sequence[str], at_least: Sequence[str] = ()) -> GivenPrices:
        """Read the texts of prices."""
        return cls(dict(map(parse_price, by_user)), dict(map(parse_price, at_least)))


@dataclass(frozen=True, slots=True)
class Means:
    """What a run asks models with: settled before anything starts."""

    models: tuple[ModelSpec, ...]
    keys: tuple[Key, ...]
    prices: Mapping[str, Price]
    """By `provider:model` as the user named it."""
    warnings: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Where providers are asked, by name, for keys that do not say so themselves."""

    @property
    def is_offline(self) -> bool:
        """Whether nobody outside is asked."""
        return all(spec.provider == REHEARSED for spec in self.models)

    def price(self, spec: ModelSpec) -> Price:
        """Return what a model costs."""
        return self.prices[str(spec)]


def gather_means(
    models: Sequence[str],
    environ: Mapping[str, str],
    home: Path,
    prices: GivenPrices,
    addresses: Mapping[str, str] | None = None,
) -> Means:
    """Read keys and prices for these models, or raise `UsageError` saying which of them is missing."""
    specs = tuple(dict.fromkeys(parse_model_spec(model) for model in models))
    providers = {spec.provider for spec in specs}
    needs_key = {spec: create_provider(spec).needs_key for spec in specs}
    if providers == {REHEARSED}:
        return Means(specs, _simulated_keys(environ), {str(spec): _price(spec, GivenPrices(), ()) for spec in specs})
    addresses = addresses or {}
    keyring = read_keys(environ, home, addresses)
    keys = tuple(key for key in keyring.keys if key.provider in providers)
    for spec in specs:
        if needs_key[spec] and not any(key.provider == spec.provider for key in keys):
            variable = f"{spec.provider.upper()}_API_KEY"
            raise UsageError(f"{spec}: no {spec.provider} key; set {variable} or run: agentos keys add {spec.provider}")
    known = {str(spec): _price(spec, prices, keys) for spec in specs}
    return Means(specs, keys, known, keyring.problems, addresses)


def open_pool(means: Means, environ: Mapping[str, str], home: Path, announce: Callable[[str], None]) -> Pool:
    """Return the pool of a run; simulated keys are in a pool of their own that nobody else sees."""
    is_real = any(key.provider != REHEARSED for key in means.keys)
    for key in means.keys if is_real else ():
        register_key(key.secret, key.fingerprint)
    watch = KeyWatch(means, environ, home, announce)
    rehearse_429 = not is_real and environ.get(SIMULATE_429_VARIABLE, "").lower() in ("1", "true", "yes")
    return Pool(
        Store(home / POOL_FILE if is_real else ":memory:"),
        watch,
        announce,
        window=_read_window(environ),
        rehearse_429=rehearse_429,
    )


def open_journal(means: Means, home: Path, run: str, announce: Callable[[str], None]) -> Journal:
    """Open the journal; rules give the same answer again for nothing, so theirs need not outlive the run."""
    if means.is_offline:
        return MemoryJournal(run)
    from agentos.gateway.sqlite_journal import SqliteJournal

    journal = SqliteJournal(home / JOURNAL_FILE, run)
    if journal.notice:
        announce(journal.notice)
    return journal


def _read_window(environ: Mapping[str, str]) -> float:
    """Return how many seconds a provider's minute has: for a rehearsal it can be made shorter."""
    text = environ.get(WINDOW_VARIABLE, "")
    try:
        window = read_seconds(text) if text else MINUTE
    except ValueError as error:
        raise UsageError(f"{WINDOW_VARIABLE}: {error}") from None
    return window or MINUTE


class KeyWatch:
    """Give the keys of a run at first, and again when the key file was edited meanwhile."""

    def __init__(self, means: Means, environ: Mapping[str, str], home: Path, announce: Callable[[str], None]) -> None:
        self._means = means
        self._environ = environ
        self._home = home
        self._announce = announce
        self._seen: object = None

    def __call__(self) -> Sequence[Key] | None:
        """Return all keys when they may have changed, None when they have not."""
        is_first = self._seen is None
        now = self._look()
        if now == self._seen:
            return None
        self._seen = now
        if is_first:
            return self._means.keys
        try:
            keyring = read_keys(self._environ, self._home, self._means.addresses)
        except UsageError as error:
            self._announce(f"the edited key file is not used: {error}")
            return None
        providers = {spec.provider for spec in self._means.models}
        keys = [key for key in keyring.keys if key.provider in providers]
        for key in keys:
            register_key(key.secret, key.fingerprint)
        return keys

    def _look(self) -> object:
        try:
            status = os.stat(self._home / KEYS_FILE)  # noqa: PTH116
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


def _price(spec: ModelSpec, given: GivenPrices, keys: Sequence[Key]) -> Price:
    has_key = any(key.provider == spec.provider for key in keys)
    price = price_of(spec.provider, spec.model, given.by_user, has_key=has_key)
    name, any_name = f"{spec.provider}:{spec.model or ANY_MODEL}", f"{spec.provider}:{ANY_MODEL}"
    floor = given.at_least.get(name) or given.at_least.get(any_name)
    if price is None:
        hint = "; this repository names one, which counts once you run: agentos config trust" if floor else ""
        raise UsageError(
            f"{spec}: its price is not known; give it with --price {name}=IN/OUT, in dollars for a million tokens in "
            f"and out (0/0 when it costs nothing){hint}"
        )
    return price.raised_to(floor) if floor else price


def _simulated_keys(environ: Mapping[str, str]) -> tuple[Key, ...]:
    """Return keys for the rules, which need none, so that a shortage can be rehearsed."""
    limit = environ.get(LIMIT_VARIABLE, "")
    if not limit and environ.get(SIMULATE_429_VARIABLE, "").lower() not in ("1", "true", "yes"):
        return ()
    if limit and (not (limit.isascii() and limit.isdigit()) or int(limit) == 0):
        raise UsageError(f"{LIMIT_VARIABLE}: must be a whole number from 1 up, not {limit!r}")
    numbers = range(1, (int(limit) if limit else SIMULATED_KEYS) + 1)
    return tuple(Key(REHEARSED, f"simulated key {n}", f"simulated {n}", 1, source=f"simulated {n}") for n in numbers)
