"""Open the gateway of a run: its keys, prices, caps and journal; refuse early what could not work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import UsageError
from agentos.gateway.journal import Journal, MemoryJournal
from agentos.gateway.prices import ANY_MODEL, Price, price_of
from agentos.home import JOURNAL_FILE
from agentos.keys import Key
from agentos.keys.pool import MINUTE, Pool
from agentos.keys.sources import LIMIT_VARIABLE, read_keys
from agentos.keys.store import Store
from agentos.providers import ModelSpec, create_provider, parse_model_spec
from agentos.redaction import register
from agentos.settings import read_seconds

KEYS_FILE = "keys.toml"
POOL_FILE = "pool.db"
SIMULATE_429_VARIABLE = "AGENTOS_SIMULATE_429"
WINDOW_VARIABLE = "AGENTOS_RATE_WINDOW"
REHEARSED = "offline"
SIMULATED_KEYS = 3


@dataclass(frozen=True, slots=True)
class Means:
    """What a run asks models with: settled before anything starts."""

    models: tuple[ModelSpec, ...]
    keys: tuple[Key, ...]
    prices: Mapping[str, Price]
    """By `provider:model` as the user named it."""
    warnings: tuple[str, ...] = ()

    @property
    def is_offline(self) -> bool:
        """Whether nobody outside is asked."""
        return all(spec.provider == REHEARSED for spec in self.models)

    def price(self, spec: ModelSpec) -> Price:
        """Return what a model costs."""
        return self.prices[str(spec)]


def gather_means(
    models: Sequence[str], environ: Mapping[str, str], home: Path, given_prices: Mapping[str, Price]
) -> Means:
    """Read keys and prices for these models, or raise `UsageError` saying which of them is missing."""
    specs = tuple(dict.fromkeys(parse_model_spec(model) for model in models))
    providers = {spec.provider for spec in specs}
    needs_key = {spec: create_provider(spec).needs_key for spec in specs}
    if providers == {REHEARSED}:
        return Means(specs, _simulated_keys(environ), {str(spec): _price(spec, {}, ()) for spec in specs})
    keyring = read_keys(environ, home)
    keys = tuple(key for key in keyring.keys if key.provider in providers)
    for spec in specs:
        if needs_key[spec] and not any(key.provider == spec.provider for key in keys):
            variable = f"{spec.provider.upper()}_API_KEY"
            raise UsageError(f"{spec}: no {spec.provider} key; set {variable} or run: agentos keys add {spec.provider}")
    prices = {str(spec): _price(spec, given_prices, keys) for spec in specs}
    return Means(specs, keys, prices, keyring.problems)


def open_pool(means: Means, environ: Mapping[str, str], home: Path, announce: Callable[[str], None]) -> Pool:
    """Return the pool of a run; simulated keys are in a pool of their own that nobody else sees."""
    is_real = any(key.provider != REHEARSED for key in means.keys)
    for key in means.keys if is_real else ():
        register(key.secret)
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
            keyring = read_keys(self._environ, self._home)
        except UsageError as error:
            self._announce(f"the edited key file is not used: {error}")
            return None
        providers = {spec.provider for spec in self._means.models}
        keys = [key for key in keyring.keys if key.provider in providers]
        for key in keys:
            register(key.secret)
        return keys

    def _look(self) -> object:
        try:
            status = os.stat(self._home / KEYS_FILE)  # noqa: PTH116
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


def _price(spec: ModelSpec, given: Mapping[str, Price], keys: Sequence[Key]) -> Price:
    has_key = any(key.provider == spec.provider for key in keys)
    price = price_of(spec.provider, spec.model, given, has_key=has_key)
    if price is None:
        name = f"{spec.provider}:{spec.model or ANY_MODEL}"
        raise UsageError(
            f"{spec}: its price is not known; give it in dollars for a million tokens in and out, "
            f"as --price {name}=0.50/1.50, or {name}=0/0 when it costs nothing"
        )
    return price


def _simulated_keys(environ: Mapping[str, str]) -> tuple[Key, ...]:
    """Return keys for the rules, which need none, so that a shortage can be rehearsed."""
    limit = environ.get(LIMIT_VARIABLE, "")
    if not limit and environ.get(SIMULATE_429_VARIABLE, "").lower() not in ("1", "true", "yes"):
        return ()
    if limit and (not (limit.isascii() and limit.isdigit()) or int(limit) == 0):
        raise UsageError(f"{LIMIT_VARIABLE}: must be a whole number from 1 up, not {limit!r}")
    numbers = range(1, (int(limit) if limit else SIMULATED_KEYS) + 1)
    return tuple(Key(REHEARSED, f"simulated key {n}", f"simulated {n}", 1, source=f"simulated {n}") for n in numbers)
