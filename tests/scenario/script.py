"""The script that the scenario server plays: TOML or a mapping of the same shape.

    window = 60.0             # seconds of a "minute": 2.0 makes a minute pass in two seconds
    day = 86400.0             # seconds of a "day" for requests_per_day, counted from the start of the server
    latency = 0.0             # seconds before an answer begins
    first_byte = 0.0          # seconds from the headers of a stream to its first piece
    tokens_per_second = 0.0   # pace of an answer, 0 for at once
    price_input = 3.0         # dollars per million tokens, for the bill and for spend caps
    price_output = 15.0
    cache_minimum = 1024      # tokens of the shortest beginning that is cached; 0 for no cache
    cache_life = 300.0        # seconds that a beginning stays in the cache after its last use
    slots = 1                 # answers that are given at once; further calls wait without a byte, 0 for no limit
    models = ["m1"]           # models that exist; without it every model does

    [[group]]                 # limits belong to a group and are shared by its keys; 0 or left out: no limit
    name = "project-1"
    requests_per_window = 15
    tokens_per_window = 250000
    requests_per_day = 200
    spend_cap = 1.50
    max_parallel = 4

    [[key]]                   # without any key every secret is good: of the first group, else a group of its own
    secret = "sk-1"
    group = "project-1"       # left out: a group of its own
    state = "ok"              # "revoked", "no-billing"

    [[fault]]
    kind = "rate-limit"
    after = 3                 # every call from the fourth on; or
    at = [2, 5]               # the second and the fifth; or
    rate = 0.1                # each tenth by chance,
    seed = 7                  # the same ones each time; with none of these: every call
    times = 2                 # at most this often, 0 for always
    lasts = 5.0               # once it struck, all calls for so many seconds, with what is left of it as the delay
    key = "sk-1"              # only these calls are counted and struck: also group, item, model, format, purpose
    delay = 2.0               # told to the caller (rate-limit, overloads), or waited (silence, slow)
    in_stream = true          # inside a stream that began with status 200
    status = 503              # instead of the kind's own
    message = "..."           # instead of the provider's words

    [[answer]]
    purpose = "lld.draft"     # lld.review, issue.draft, issue.review, other, or * for all
    item = "42"
    text = "..."              # or
    texts = ["...", "..."]    # one after the other for each item; the last one from then on

Kinds that refuse a call, in the provider's own bytes: `rate-limit`, `daily-quota`,
`spend-limit`, `billing` (no way
to pay), `credit` (prepaid money is used up), `overloaded`, `capacity`, `auth`,
`server-error`, `not-found`,
`bad-request`, `html` (a proxy's page, with status 200 unless told), `reset` (the
connection). Kinds that spoil an
answer: `cut-stream` (ends in the middle as if all were well), `silence` (nothing more
is sent, for `delay` seconds or
until the fault is lifted), `slow` (`delay` seconds between pieces), `empty`, `huge` (10
MB), `bad-json` (the text
breaks off; with `in_stream` the provider's own JSON does). `reset`, `silence`, and the
refusals that a stream can
carry, take `in_stream`. A call that is refused costs nothing and counts against no
limit.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

CACHED_SHARE = 0.1
"""What a token from the cache costs of the price of input."""
WRITTEN_SHARE = 1.25
"""What a token that is written to the cache costs of it."""


class ScriptError(ValueError):
    """A script that cannot be played; says what is wrong in which entry."""


class Kind(StrEnum):
    """What a fault does to a call."""

    RATE_LIMIT = "rate-limit"
    DAILY_QUOTA = "daily-quota"
    SPEND_LIMIT = "spend-limit"
    BILLING = "billing"
    CREDIT = "credit"
    OVERLOADED = "overloaded"
    CAPACITY = "capacity"
    AUTH = "auth"
    SERVER_ERROR = "server-error"
    NOT_FOUND = "not-found"
    BAD_REQUEST = "bad-request"
    HTML = "html"
    RESET = "reset"
    CUT_STREAM = "cut-stream"
    SILENCE = "silence"
    SLOW = "slow"
    EMPTY = "empty"
    HUGE = "huge"
    BAD_JSON = "bad-json"


REFUSALS = frozenset(list(Kind)[: list(Kind).index(Kind.HTML)])
"""Kinds that a provider answers with an error body."""
SPOILING = frozenset(list(Kind)[list(Kind).index(Kind.CUT_STREAM) :])
"""Kinds that happen to a call that was admitted."""
STATES = ("ok", "revoked", "no-billing")


@dataclass(frozen=True, slots=True)
class Group:
    """A quota group; 0 is no limit."""

    name: str
    requests_per_window: int = 0
    tokens_per_window: int = 0
    requests_per_day: int = 0
    spend_cap: float = 0.0
    max_parallel: int = 0


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key that the server knows."""

    secret: str = field(repr=False)
    group: str = ""
    state: str = "ok"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong, and when."""

    kind: Kind
    after: int | None = None
    at: tuple[int, ...] = ()
    rate: float | None = None
    seed: int = 0
    times: int = 0
    lasts: float = 0.0
    key: str = field(default="", repr=False)
    group: str = ""
    item: str = ""
    model: str = ""
    format: str = ""
    purpose: str = ""
    delay: float | None = None
    in_stream: bool = False
    status: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A fixed answer, or a series of them for each item."""

    text: str = ""
    purpose: str = "*"
    item: str = ""
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """All that the server plays by."""

    window: float = 60.0
    day: float = 86_400.0
    latency: float = 0.0
    first_byte: float = 0.0
    tokens_per_second: float = 0.0
    price_input: float = 0.0
    price_output: float = 0.0
    cache_minimum: int = 0
    cache_life: float = 300.0
    slots: int = 0
    models: tuple[str, ...] = ()
    group: tuple[Group, ...] = ()
    key: tuple[KeyEntry, ...] = ()
    fault: tuple[Fault, ...] = ()
    answer: tuple[Answer, ...] = ()

    def cost(
        self, input_tokens: int, output_tokens: int, cached: int = 0, written: int = 0
    ) -> float:
        """Return the price of a call in dollars."""
        units = input_tokens - cached * (1 - CACHED_SHARE)
        units += written * (WRITTEN_SHARE - 1)
        return (
            units * self.price_input + output_tokens * self.price_output
        ) / 1_000_000


_Record = TypeVar("_Record", Group, KeyEntry, Fault, Answer, Script)
_TABLES = {"group": Group, "key": KeyEntry, "fault": Fault, "answer": Answer}
_FRACTIONS = frozenset(
    (
        "window",
        "day",
        "latency",
        "first_byte",
        "tokens_per_second",
        "price_input",
        "price_output",
        "cache_life",
        "spend_cap",
    )
) | {"rate", "lasts", "delay"}
_WHOLE = frozenset(
    [
        "requests_per_window",
        "tokens_per_window",
        "requests_per_day",
        "max_parallel",
        "after",
        "seed",
        "times",
        "status",
        "slots",
        "cache_minimum",
    ]
)


def load_script(source: Script | Mapping[str, Any] | str | Path) -> Script:
    """Make a script of a mapping, of TOML text, or of the path of a file in TOML or
    JSON.
    """
    if isinstance(source, Script):
        return source
    if isinstance(source, Path):
        is_json = source.suffix == ".json"
        source = source.read_text("utf-8")
        source = json.loads(source) if is_json else source
    if isinstance(source, str):
        try:
            source = tomllib.loads(source)
        except tomllib.TOMLDecodeError as error:
            raise ScriptError(f"the script is no TOML: {error}") from None
    return _check(_read(Script, source, "script"))


def change_script(script: Script, changes: Mapping[str, Any]) -> Script:
    """Return the script with the given top-level entries in the place of its own."""
    changed = _read(Script, changes, "script")
    values = {
        name: getattr(changed if name in changes else script, name)
        for name in _names(Script)
    }
    return _check(Script(**values))


def _read(record: type[_Record], values: Mapping[str, Any], where: str) -> _Record:
    if not isinstance(values, Mapping):
        raise ScriptError(f"{where} must be a table")
    if unknown := sorted(set(values) - set(_names(record))):
        raise ScriptError(
            f"{where} has an unknown entry {unknown[0]!r}; known: {', '.join(_names(record))}"
        )
    read = {
        name: _top_level(name, value)
        if record is Script
        else _value(name, value, where)
        for name, value in values.items()
    }
    try:
        return record(**read)
    except TypeError as error:
        raise ScriptError(
            f"{where}: {str(error).rpartition('__init__() ')[2]}"
        ) from None


def _top_level(name: str, value: Any) -> Any:
    if name not in _TABLES:
        return _value(name, value, "script")
    if not isinstance(value, list | tuple):
        raise ScriptError(f"{name} must be a list of tables: write [[{name}]]")
    return tuple(
        entry
        if isinstance(entry, _TABLES[name])
        else _read(_TABLES[name], entry, f"{name} {number}")
        for number, entry in enumerate(value, 1)
    )


def _value(name: str, value: Any, where: str) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in _FRACTIONS:
        if not is_number or not 0 <= value < float("inf"):
            raise ScriptError(
                f"{where}: {name} must be a number from 0 up, not {value!r}"
            )
        return float(value)
    if name in _WHOLE:
        if not is_number or value != int(value) or value < 0:
            raise ScriptError(
                f"{where}: {name} must be a whole number from 0 up, not {value!r}"
            )
        return int(value)
    if name in ("at", "models", "texts"):
        wanted = int if name == "at" else str
        if not isinstance(value, list | tuple) or not all(
            type(entry) is wanted for entry in value
        ):
            raise ScriptError(
                f"{where}: {name} must be a list of {'call numbers' if name == 'at' else name}"
            )
        return tuple(value)
    if name == "in_stream":
        if not isinstance(value, bool):
            raise ScriptError(f"{where}: in_stream must be true or false")
        return value
    if not isinstance(value, str):
        raise ScriptError(f"{where}: {name} must be text, not {type(value).__name__}")
    return _kind(value, where) if name == "kind" else value


def _kind(value: str, where: str) -> Kind:
    try:
        return Kind(value)
    except ValueError:
        raise ScriptError(
            f"{where}: unknown kind {value!r}; known: {', '.join(Kind)}"
        ) from None


def _check(script: Script) -> Script:
    if not script.window or not script.day:
        raise ScriptError("window and day must be more than 0 seconds")
    for name, values in (
        ("group", [g.name for g in script.group]),
        ("key", [k.secret for k in script.key]),
    ):
        if len(set(values)) != len(values):
            raise ScriptError(f"two entries of {name} are the same")
    known = {group.name for group in script.group}
    for number, key in enumerate(script.key, 1):
        if key.state not in STATES:
            raise ScriptError(
                f"key {number}: unknown state {key.state!r}; known: {', '.join(STATES)}"
            )
        if key.group and known and key.group not in known:
            raise ScriptError(f"key {number}: there is no group {key.group!r}")
    for number, fault in enumerate(script.fault, 1):
        if sum((fault.after is not None, bool(fault.at), fault.rate is not None)) > 1:
            raise ScriptError(f"fault {number}: only one of after, at and rate")
    return script


def _names(record: type[Any]) -> list[str]:
    return [entry.name for entry in fields(record)]
