"""Find the value of every setting.

A flag wins over the environment, that over the files of the repository, those over the
user's file, and that over the default. `resolve` is the entry point; `RunConfig` declares
all settings and carries their values from the command to the steps.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from agentos.errors import BadInput, UsageError
from agentos.gateway.roles import ROLES, RoleTerms, role_of
from agentos.kinds import Kind
from agentos.state.files import read_regular
from agentos.state.trust import is_trusted

FILE_LIMIT = 4_000_000
PRICE_FLOOR = "price_at_least"
"""The prices of an untrusted repository, which are used where they are higher."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: how to read its value, and its default."""

    name: str
    read: Callable[[Any], Any]
    default: Any
    help: str
    metavar: str = "N"
    builds: bool | None = None
    """Whether only kinds that build have its flag, or only those that do not."""
    makes_flag: bool = True
    """Whether every workflow command has a flag for it; a few flags are special and
    declared with their commands.
    """
    is_repeated: bool = True
    """Whether the command to run items again repeats its flag."""
    is_switch: bool = False
    """Whether its flag takes no value."""
    is_personal: bool = False
    """Whether only the user may set it: no repository, not even a trusted one."""

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"AGENTOS_{self.name.upper()}"


def show_value(value: object) -> str:
    """Return the value of a setting as one line."""
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    # A line break could make the rest look like another setting.
    return text.replace("\n", "\\n")


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a setting and its origin."""

    value: Any
    origin: str


def read_whole(minimum: int) -> Callable[[Any], int]:
    """Return a function that reads a whole number of at least `minimum`."""

    def read(given: Any) -> int:
        text = str(given).strip()
        is_number = text.isascii() and text.removeprefix("-").isdigit()
        if not is_number or isinstance(given, bool) or len(text) > 9:
            raise ValueError(f"must be a whole number from {minimum} up, not {given!r}")
        if int(text) < minimum:
            raise ValueError(f"must be {minimum} or more, not {given!r}")
        return int(text)

    return read


def read_seconds(given: Any) -> float:
    """Read a number of seconds, 0 or more."""
    try:
        seconds = float(str(given).strip().removesuffix("s"))
    except ValueError:
        raise ValueError(f"must be a number of seconds, not {given!r}") from None
    if isinstance(given, bool) or not 0 <= seconds <= 10_000_000:
        raise ValueError(f"must be a number of seconds, not {given!r}")
    return seconds


def read_patience(given: Any) -> float:
    """Read a number of seconds above 0, at most a day."""
    seconds = read_seconds(given)
    if not 0 < seconds <= 86_400:
        raise ValueError(f"must be seconds from above 0 to 86400, not {given!r}")
    return seconds


def read_share(given: Any) -> float:
    """Read a percentage."""
    try:
        share = float(str(given).strip().removesuffix("%"))
    except ValueError:
        raise ValueError(f"must be a percentage, not {given!r}") from None
    if isinstance(given, bool) or not 0 <= share <= 100:
        raise ValueError(f"must be from 0 to 100 percent, not {given!r}")
    return share


def read_switch(given: Any) -> bool:
    """Read whether something is on."""
    word = str(given).strip().casefold()
    if word not in ("true", "false"):
        raise ValueError(f"must be true or false, not {given!r}")
    return word == "true"


def read_choice(*choices: str) -> Callable[[Any], str]:
    """Return a function that reads one of some words."""

    def read(given: Any) -> str:
        if given not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {given!r}")
        return str(given)

    return read


def read_model(given: Any) -> str:
    """Read `provider:model` and check that the provider exists."""
    from agentos.gateway.providers import parse_model_spec

    return str(parse_model_spec(str(given)))


_RULE = re.compile(r"(soon|now),fail=([0-9]{1,6})(%?)")


@dataclass(frozen=True, slots=True)
class Halt:
    """A rule that stops a run after too many failures."""

    is_immediate: bool
    """Whether the running items are stopped too."""
    limit: int
    is_percentage: bool

    def is_reached(self, failed: int, total: int) -> bool:
        """Return whether the run has to stop."""
        if failed == 0:
            return False
        if self.is_percentage:
            return failed * 100 >= self.limit * total
        return failed >= self.limit


def parse_halt(text: str) -> Halt | None:
    """Read a halt rule; None means never."""
    if text == "never":
        return None
    match = _RULE.fullmatch(text)
    if match is None or int(match[2]) == 0:
        raise ValueError(
            "must be never, soon,fail=N or now,fail=N, where N may be a percentage such as"
            f" 10%, not {text!r}"
        )
    return Halt(match[1] == "now", int(match[2]), bool(match[3]))


def read_halt(given: Any) -> str:
    """Check a halt rule and return its text."""
    parse_halt(str(given))
    return str(given)


def read_cap(given: Any) -> str:
    """Check an amount of dollars and return its text; an empty one is no cap."""
    from agentos.money import parse_dollars

    if isinstance(given, bool):
        raise ValueError(f"must be an amount of dollars, not {given!r}")
    if str(given):
        parse_dollars(str(given))
    return str(given)


def per_role(read: Callable[[Any], Any]) -> Callable[[Any], tuple[str, ...]]:
    """Return a function that reads one value for all roles, or values by role:
    `high`, `coder=high,reviewer=low`, or a table of roles in a file.
    """

    def read_all(given: Any) -> tuple[str, ...]:
        if isinstance(given, dict):
            given = [f"{role}={value}" for role, value in given.items()]
        texts = []
        for text in _split(given):
            role, has_role, value = text.strip().rpartition("=")
            if has_role and role not in ROLES:
                listed = ", ".join(ROLES)
                raise ValueError(f"{role[:40]!r} is no role; the roles are {listed}")
            read(value)
            texts.append(text.strip())
        return tuple(texts)

    return read_all


def read_temperature(given: Any) -> float:
    """Read a temperature."""
    try:
        temperature = float(str(given))
    except ValueError:
        temperature = -1.0
    if not 0 <= temperature <= 2:
        raise ValueError(f"must be a number from 0 to 2, not {given!r}")
    return temperature


def read_effort(given: Any) -> str:
    """Read how much a model is to think: a word of its provider."""
    text = str(given)
    if not re.fullmatch("[a-z]{1,20}", text):
        raise ValueError(f"must be a word such as low, medium or high, not {text!r}")
    return text


def read_prices(given: Any) -> tuple[str, ...]:
    """Check prices, as a list or separated by commas, and return their texts."""
    from agentos.gateway.prices import parse_price

    prices = []
    for text in _split(given):
        parse_price(text)
        prices.append(text.strip())
    return tuple(prices)


def read_addresses(given: Any) -> tuple[str, ...]:
    """Read addresses of providers, each as `provider=URL`, as a list or separated by
    commas.
    """
    from agentos.gateway.keys.entries import check_base_url
    from agentos.gateway.providers.records import BUILT_IN
    from agentos.gateway.providers.registry import check_name

    addresses = []
    for text in _split(given):
        name, _, url = text.partition("=")
        provider = name.strip()
        check_name(provider)
        record = BUILT_IN.get(provider)
        if record is not None and not record.base_url_variable:
            raise ValueError(f"must be provider=URL; {provider} has no other address")
        address = check_base_url(url.strip())
        addresses.append(f"{provider}={address}")
    return tuple(addresses)


def _split(given: Any) -> list[str]:
    values = given if isinstance(given, list) else [given]
    texts = []
    for value in values:
        texts += str(value).split(",")
    return texts


LOOP = "loop"
SINGLE = "single"
"""How tests and code are written: turn by turn, or in one answer an attempt."""


def setting(
    default: Any,
    read: Callable[[Any], Any],
    help: str,
    **flag: Any,
) -> Any:
    """Declare a field of `RunConfig` as a setting; the rest is as in `Setting`."""
    declared = {"read": read, "help": help, **flag}
    return field(default=default, metadata=declared)


@dataclass(frozen=True, slots=True)
class RunConfig:
    """How items are run: plain data, made once by a command, that reaches every step.

    A setting is declared here and nowhere else: its flag, its variable, its key in
    configuration files and its line in `agentos config` follow.
    """

    parallel: int = setting(
        1,
        read_whole(1),
        "how many items run at a time, at most 10",
        makes_flag=False,
    )
    drafter: str = setting(
        "offline",
        read_model,
        "model that drafts, as provider:model",
        metavar="P:MODEL",
    )
    reviewer: str = setting(
        "offline",
        read_model,
        "model that reviews, as provider:model (default: the drafter)",
        metavar="P:MODEL",
    )
    test_writer: str = setting(
        "",
        read_model,
        "model that writes tests, as provider:model (default: the drafter)",
        metavar="P:MODEL",
        builds=True,
    )
    coder: str = setting(
        "",
        read_model,
        "model that writes code, as provider:model (default: the drafter)",
        metavar="P:MODEL",
        builds=True,
    )
    strict: bool = setting(
        False,
        read_switch,
        "refuse items that agentos triage finds not ready, before a model is asked",
        builds=False,
        is_switch=True,
    )
    max_rounds: int = setting(
        5,
        read_whole(1),
        "maximum number of drafts before an item ends as needs-revision",
        builds=False,
    )
    look_turns: int = setting(
        6,
        read_whole(0),
        "how often a model may look at the repository before it answers; 0 for never",
    )
    looks: int = setting(
        12,
        read_whole(1),
        "number of looks in one turn",
        makes_flag=False,
    )
    look_characters: int = setting(
        10_000,
        read_whole(1_000),
        "number of characters that one look may show",
        makes_flag=False,
    )
    looked_characters: int = setting(
        64_000,
        read_whole(2_000),
        "number of characters that all looks before one answer may show",
        makes_flag=False,
    )
    max_iterations: int = setting(
        5,
        read_whole(1),
        "maximum number of attempts at the code before an item ends as not-green",
        builds=True,
    )
    attempts: int = setting(
        1,
        read_whole(1),
        "how often the code is begun from the base when it did not become green",
        builds=True,
    )
    writer: str = setting(
        "",
        read_choice(LOOP, SINGLE),
        "how tests and code are written: in a loop of edits and commands, or in single"
        " answers (default: loop, if a model and bubblewrap are there)",
        metavar="HOW",
        builds=True,
    )
    turns: int = setting(
        40,
        read_whole(1),
        "maximum number of turns in a loop",
        builds=True,
    )
    command_timeout: float = setting(
        60.0,
        read_patience,
        "time limit for one command in a loop, in seconds",
        metavar="SECONDS",
        builds=True,
    )
    coverage_target: float = setting(
        95.0,
        read_share,
        "percentage of the declared files' lines that the tests must cover",
        metavar="PERCENT",
        builds=True,
    )
    test_timeout: float = setting(
        300.0,
        read_seconds,
        "time limit for one run of generated tests, in seconds",
        metavar="SECONDS",
        builds=True,
    )
    allow_unsandboxed: bool = setting(
        False,
        read_switch,
        "run generated code without bubblewrap, where it can read and change your files",
        builds=True,
        is_switch=True,
        is_personal=True,
    )
    timeout: float = setting(
        0.0,
        read_seconds,
        "time limit for one item, in seconds; 0 for no limit",
        metavar="SECONDS",
    )
    retries: int = setting(
        0,
        read_whole(0),
        "how often an item is retried after a transient error",
        is_repeated=False,
    )
    delay: float = setting(
        0.0,
        read_seconds,
        "seconds between two starts",
        metavar="SECONDS",
        is_repeated=False,
    )
    halt: str = setting(
        "never",
        read_halt,
        "when failures stop the run: never, or soon|now,fail=N or fail=N%",
        metavar="RULE",
        is_repeated=False,
    )
    max_cost: str = setting(
        "",
        read_cap,
        "budget of this run and its reruns, in dollars",
        metavar="DOLLARS",
    )
    max_cost_per_item: str = setting(
        "",
        read_cap,
        "budget of one item, in dollars",
        metavar="DOLLARS",
    )
    max_cost_per_day: str = setting(
        "",
        read_cap,
        "budget of all runs of a day (UTC), in dollars",
        metavar="DOLLARS",
    )
    price: tuple[str, ...] = setting(
        (),
        read_prices,
        "dollars per million input and output tokens of a model, as P:MODEL=IN/OUT",
        makes_flag=False,
    )
    base_url: tuple[str, ...] = setting(
        (),
        read_addresses,
        "address of a provider, as provider=URL",
        makes_flag=False,
    )
    output_limit: tuple[str, ...] = setting(
        ("32000",),
        per_role(read_whole(256)),
        "maximum number of tokens in an answer; for one role as coder=64000",
        metavar="[ROLE=]N",
    )
    effort: tuple[str, ...] = setting(
        (),
        per_role(read_effort),
        "how much the models think, in the words of their providers: low, high...",
        metavar="[ROLE=]WORD",
    )
    thinking: tuple[str, ...] = setting(
        (),
        per_role(read_whole(0)),
        "tokens that the models may think for, where a provider takes a budget",
        metavar="[ROLE=]N",
    )
    temperature: tuple[str, ...] = setting(
        (),
        per_role(read_temperature),
        "temperature of the models",
        metavar="[ROLE=]T",
    )
    first_byte_timeout: tuple[str, ...] = setting(
        ("600",),
        per_role(read_patience),
        "seconds to wait for the first byte of an answer",
        metavar="[ROLE=]SECONDS",
    )
    idle_timeout: tuple[str, ...] = setting(
        ("120",),
        per_role(read_patience),
        "seconds to wait for the next byte of an answer",
        metavar="[ROLE=]SECONDS",
    )
    color: str = setting(
        "auto",
        read_choice("auto", "always", "never"),
        "when to use colors: auto (the default, honors NO_COLOR), always or never",
        makes_flag=False,
    )
    price_at_least: tuple[str, ...] = ()
    """Prices that are used where they are higher than the known ones."""
    scaffold_only: bool = False
    """Whether an implementation ends when its tests are written and proven red."""
    restart: str = ""
    """What an implementation does anew: `tests`, `code` or `all`; empty to go on."""
    note: str = ""
    """What a person says to the models that write tests and code."""

    def model_of(self, role: str) -> str:
        """Return the model of a role; the drafter's where none is named."""
        return getattr(self, role) or self.drafter

    def models_of(self, kind: Kind) -> dict[str, str]:
        """Return the models of a kind by role."""
        roles = [role_of(prompt) for prompt in kind.record.prompts]
        return {role: self.model_of(role) for role in roles}

    def terms_of(self, role: str) -> RoleTerms:
        """Return how the model of a role is asked."""
        values = {}
        for name, read in _TERMS.items():
            text = _find_for(role, getattr(self, name))
            if text:
                values[name] = read(text)
        return RoleTerms(**values)


_TERMS: Mapping[str, Callable[[str], Any]] = {
    "output_limit": int,
    "effort": str,
    "thinking": int,
    "temperature": float,
    "first_byte_timeout": float,
    "idle_timeout": float,
}


def _find_for(role: str, texts: Sequence[str]) -> str:
    """Return the value for a role among `role=value` and a `value` for all, the last
    of each; empty without one.
    """
    found = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        found[name] = value
    return found.get(role) or found.get("", "")


SETTINGS: dict[str, Setting] = {}
for _field in fields(RunConfig):
    if _field.metadata:
        _declared = Setting(_field.name, default=_field.default, **_field.metadata)
        SETTINGS[_field.name] = _declared


CAPS = ("max_cost", "max_cost_per_item", "max_cost_per_day")
GUARDED = frozenset({*CAPS, "price", "base_url"})
"""Settings that affect costs: an untrusted repository may only lower a cap and raise a
price.
"""


PERSONAL = frozenset(name for name, known in SETTINGS.items() if known.is_personal)
"""Settings that a repository cannot set."""


Layer = tuple[str, Mapping[str, Any]]
"""An origin, and the values that it sets by name."""


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """The settings in the files of a repository."""

    layers: tuple[Layer, ...]
    """One for each file, the one that wins first."""
    is_trusted: bool

    @property
    def values(self) -> dict[str, Any]:
        """All values by name."""
        merged: dict[str, Any] = {}
        for _, layer in reversed(self.layers):
            merged |= layer
        return merged

    def describe(self) -> list[str]:
        """Return lines that say which settings are used, limited or ignored."""
        used, lines = [], []
        for origin, layer in self.layers:
            names = sorted(_allowed(layer, is_trusted=self.is_trusted))
            if names:
                used.append(f"{', '.join(names)} ({origin})")
            refused = sorted(PERSONAL.intersection(layer))
            lines += [_refuse_personal(name, origin) for name in refused]
            if self.is_trusted:
                continue
            caps = [f"{name} = {layer[name]}" for name in CAPS if name in layer]
            if caps:
                listed = ", ".join(caps)
                lines.append(
                    f"{origin} of this repository lowers caps above {listed}; change it"
                    " there"
                )
            if "base_url" in layer:
                lines.append(
                    f"base_url of this repository is not used until you trust {origin}:"
                    " agentos config trust"
                )
        if used:
            lines.insert(0, f"this repository sets {'; '.join(used)}")
        return lines


def _refuse_personal(name: str, origin: str) -> str:
    flag = f"--{name.replace('_', '-')}"
    return (
        f"{name} of this repository ({origin}) is not used: only you can allow that,"
        f" with {flag}"
    )


def read_repository_settings(repository: Path, home: Path) -> RepositorySettings:
    """Read the settings of a repository, and whether the user trusts them."""
    files = (
        (repository / "agentos.toml", ()),
        (repository / ".agentos" / "config.toml", ()),
        (repository / "pyproject.toml", ("tool", "agentos")),
    )
    layers = []
    for path, keys in files:
        table = _read_toml(path, keys)
        if table:
            origin = path.relative_to(repository).as_posix()
            layers.append((origin, table))
    found = RepositorySettings(tuple(layers), is_trusted=False)
    return replace(found, is_trusted=is_trusted(home, repository, found.values))


def resolve(
    flags: Mapping[str, Any],
    environ: Mapping[str, str],
    repository: Path,
    user_file: Path,
) -> dict[str, Value]:
    """Return the value and origin of every setting; raise `UsageError` for a bad
    value.
    """
    own = read_repository_settings(repository, user_file.parent)
    given, variables = {}, {}
    for name, setting in SETTINGS.items():
        if flags.get(name) is not None:
            given[name] = flags[name]
        if environ.get(setting.variable):
            variables[name] = environ[setting.variable]
    layers: list[Layer] = [("flag", given), ("environment", variables)]
    for origin, layer in own.layers:
        layers.append((origin, _allowed(layer, is_trusted=own.is_trusted)))
    layers.append((str(user_file), _read_toml(user_file, ())))
    values = {}
    for name, setting in SETTINGS.items():
        values[name] = Value(setting.default, "default")
        for origin, layer in layers:
            if name in layer:
                values[name] = _read(setting, layer, origin)
                break
    if not own.is_trusted:
        _tighten(values, own)
    return values


def _allowed(layer: Mapping[str, Any], *, is_trusted: bool) -> dict[str, Any]:
    """Return what a repository may set."""
    refused = PERSONAL if is_trusted else PERSONAL | GUARDED
    return {name: value for name, value in layer.items() if name not in refused}


def _tighten(values: dict[str, Value], own: RepositorySettings) -> None:
    """Apply what an untrusted repository may change: lower caps, and prices that are
    used where they are higher.
    """
    for origin, layer in reversed(own.layers):
        for name in CAPS:
            if name in layer:
                cap = _read(SETTINGS[name], layer, origin)
                if cap.value and _is_lower(cap.value, str(values[name].value)):
                    values[name] = cap
        if "price" in layer:
            values[PRICE_FLOOR] = _read(SETTINGS["price"], layer, origin)


def _is_lower(cap: str, other: str) -> bool:
    from agentos.money import parse_dollars

    return not other or parse_dollars(cap) < parse_dollars(other)


def _read(setting: Setting, layer: Mapping[str, Any], origin: str) -> Value:
    try:
        value = setting.read(layer[setting.name])
    except (ValueError, UsageError) as error:
        place = f"{origin}: {setting.name}"
        if origin == "flag":
            place = f"--{setting.name.replace('_', '-')}"
        elif origin == "environment":
            place = setting.variable
        raise UsageError(f"{place}: {error}") from None
    return Value(value, origin)


def _read_toml(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the table at some keys of a file; empty if there is no such file."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}); correct its permissions"
        ) from None
    try:
        data = read_regular(path, FILE_LIMIT)
    except BadInput as error:
        raise UsageError(f"{path}: {str(error).partition(': ')[2]}") from None
    import tomllib

    try:
        table: Any = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: is not valid TOML ({error}); correct it") from None
    for key in keys:
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path}: {'.'.join(keys)} must be a table")
    for name in table:
        if name not in SETTINGS:
            hint = f"known are {', '.join(SETTINGS)}"
            close = difflib.get_close_matches(name, SETTINGS, n=1)
            if close:
                hint = f"did you mean {close[0]!r}?"
            raise UsageError(f"{path}: unknown setting {name!r}; {hint}")
    return table
