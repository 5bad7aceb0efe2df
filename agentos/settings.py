"""Settings: flags, then environment, then the repository's file, then the user's, then defaults."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentos.errors import BadInput, UsageError
from agentos.files import read_regular
from agentos.trust import is_trusted

FILE_LIMIT = 4_000_000
PRICE_FLOOR = "price_at_least"
"""The prices that an untrusted repository names: they count where they are higher."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set: how its text is read and what it is when nobody sets it."""

    name: str
    read: Callable[[Any], Any]
    default: Any
    help: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"AGENTOS_{self.name.upper()}"


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value and where it came from."""

    value: Any
    origin: str


def read_whole(minimum: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers from `minimum` up."""

    def read(given: Any) -> int:
        text = str(given).strip()
        if isinstance(given, bool) or not (text.isascii() and text.removeprefix("-").isdigit()) or len(text) > 9:
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
    """Read a number of seconds that is more than none and at most a day."""
    seconds = read_seconds(given)
    if not 0 < seconds <= 86_400:
        raise ValueError(f"must be seconds from above 0 to 86400, not {given!r}")
    return seconds


def read_share(given: Any) -> float:
    """Read a number of per cent."""
    try:
        share = float(str(given).strip().removesuffix("%"))
    except ValueError:
        raise ValueError(f"must be a number of per cent, not {given!r}") from None
    if isinstance(given, bool) or not 0 <= share <= 100:
        raise ValueError(f"must be from 0 to 100 per cent, not {given!r}")
    return share


def read_choice(*choices: str) -> Callable[[Any], str]:
    """Return a reader of one of some words."""

    def read(given: Any) -> str:
        if given not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {given!r}")
        return str(given)

    return read


def read_model(given: Any) -> str:
    """Read `provider:model` and check that the provider exists."""
    from agentos.providers import parse_model_spec

    return str(parse_model_spec(str(given)))


def read_halt(given: Any) -> str:
    """Read a halt rule and keep its text."""
    from agentos.plan.halt import parse_halt

    parse_halt(str(given))
    return str(given)


def read_cap(given: Any) -> str:
    """Read an amount of dollars and keep its text; an empty one is no cap."""
    from agentos.money import parse_dollars

    if isinstance(given, bool):
        raise ValueError(f"must be an amount of dollars, not {given!r}")
    if str(given):
        parse_dollars(str(given))
    return str(given)


def read_prices(given: Any) -> tuple[str, ...]:
    """Read prices, as a list or with commas between them, and keep their text."""
    from agentos.gateway.prices import parse_price

    texts = [part for entry in (given if isinstance(given, list) else [given]) for part in str(entry).split(",")]
    for text in texts:
        parse_price(text)
    return tuple(text.strip() for text in texts)


def read_addresses(given: Any) -> tuple[str, ...]:
    """Read addresses of providers, as a list or with commas between them, each as `provider=URL`."""
    from agentos.keys.entries import check_base_url
    from agentos.keys.sources import BASE_URL_VARIABLES

    texts = [part for entry in (given if isinstance(given, list) else [given]) for part in str(entry).split(",")]
    addresses = []
    for text in texts:
        provider, _, url = (part.strip() for part in text.partition("="))
        if provider not in BASE_URL_VARIABLES:
            raise ValueError(f"must be provider=URL with one of {', '.join(BASE_URL_VARIABLES)}, not {text!r}")
        addresses.append(f"{provider}={check_base_url(url)}")
    return tuple(addresses)


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("parallel", read_whole(1), 1, "workflows at a time, 10 at the most"),
        Setting("drafter", read_model, "offline", "who drafts, as provider:model"),
        Setting("reviewer", read_model, "offline", "who reviews, as provider:model"),
        Setting("max_rounds", read_whole(1), 5, "drafts at the most before an item ends as needs-revision"),
        Setting("max_iterations", read_whole(1), 5, "attempts at the code before an item ends as not-green"),
        Setting("coverage_target", read_share, 95.0, "per cent of the declared files' lines that tests must reach"),
        Setting("test_timeout", read_seconds, 300.0, "seconds that one run of generated tests may take"),
        Setting("timeout", read_seconds, 0.0, "seconds that one workflow may take, 0 for no limit"),
        Setting("retries", read_whole(0), 0, "times a workflow is tried again after a fault that may pass"),
        Setting("delay", read_seconds, 0.0, "seconds between two starts"),
        Setting("halt", read_halt, "never", "when failures end the batch: never, soon|now,fail=N or fail=N%"),
        Setting("max_cost", read_cap, "", "dollars that this run, reruns included, may cost at most"),
        Setting("max_cost_per_item", read_cap, "", "dollars that one item may cost at most"),
        Setting("max_cost_per_day", read_cap, "", "dollars that all runs of a day (UTC) may cost at most"),
        Setting("price", read_prices, (), "what a model costs for a million tokens in and out, as P:MODEL=IN/OUT"),
        Setting("base_url", read_addresses, (), "where a provider is asked, as provider=URL"),
        Setting("drafter_output_limit", read_whole(256), 32_000, "tokens that an answer of the drafter may have"),
        Setting("reviewer_output_limit", read_whole(256), 32_000, "tokens that an answer of the reviewer may have"),
        Setting("first_byte_timeout", read_patience, 600.0, "seconds of silence before an answer that end a call"),
        Setting("idle_timeout", read_patience, 120.0, "seconds of silence within an answer that end a call"),
        Setting("color", read_choice("auto", "always", "never"), "auto", "colours: auto, always or never"),
    )
}


CAPS = ("max_cost", "max_cost_per_item", "max_cost_per_day")
GUARDED = frozenset({*CAPS, "price", "base_url"})
"""Settings that cost money: a repository that is not trusted may lower a cap and raise a price, and no more."""


@dataclass(frozen=True, slots=True)
class RepositorySettings:
    """What the files of a repository set."""

    layers: tuple[tuple[str, Mapping[str, Any]], ...]
    """By file, the one that counts most first."""
    is_trusted: bool

    @property
    def values(self) -> dict[str, Any]:
        """Everything that is set, by name."""
        merged: dict[str, Any] = {}
        for _, layer in reversed(self.layers):
            merged |= layer
        return merged

    def describe(self) -> list[str]:
        """Say what the repository decides, and what it would like to."""
        used, lines = [], []
        for origin, layer in self.layers:
            names = sorted(name for name in layer if self.is_trusted or name not in GUARDED)
            if names:
                used.append(f"{', '.join(names)} ({origin})")
            if self.is_trusted:
                continue
            caps = [f"{name} = {layer[name]}" for name in CAPS if name in layer]
            if caps:
                lines.append(f"{origin} of this repository lowers caps above {', '.join(caps)}; change it there")
            if "base_url" in layer:
                lines.append(f"base_url of this repository is not used until you trust {origin}: agentos config trust")
        return [f"this repository sets {'; '.join(used)}", *lines] if used else lines


def read_repository_settings(repository: Path, home: Path) -> RepositorySettings:
    """Read the settings of a repository, and whether the user trusts them."""
    layers = tuple((origin, layer) for origin, layer in _repository_layers(repository) if layer)
    found = RepositorySettings(layers, is_trusted=False)
    return replace(found, is_trusted=is_trusted(home, repository, found.values))


def resolve(
    flags: Mapping[str, Any], environ: Mapping[str, str], repository: Path, user_file: Path
) -> dict[str, Value]:
    """Return every setting's value and origin, or raise `UsageError` naming the place of a bad one."""
    own = read_repository_settings(repository, user_file.parent)
    theirs = [(origin, _without_guarded(layer)) for origin, layer in own.layers] if not own.is_trusted else own.layers
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("flag", {name: value for name, value in flags.items() if name in SETTINGS and value is not None}),
        ("environment", {s.name: environ[s.variable] for s in SETTINGS.values() if environ.get(s.variable)}),
        *theirs,
        (str(user_file), _read_toml(user_file, ())),
    ]
    values = {}
    for setting in SETTINGS.values():
        origin, given = next(
            ((origin, layer[setting.name]) for origin, layer in layers if setting.name in layer),
            ("default", None),
        )
        values[setting.name] = Value(setting.default if origin == "default" else _read(setting, given, origin), origin)
    return values if own.is_trusted else values | _stricter(values, own)


def _without_guarded(layer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in layer.items() if name not in GUARDED}


def _stricter(values: Mapping[str, Value], own: RepositorySettings) -> dict[str, Value]:
    """Return what a repository that is not trusted may change: a lower cap, and prices that may be higher."""
    changed: dict[str, Value] = {}
    for origin, layer in reversed(own.layers):
        for name in CAPS:
            if name in layer:
                cap = _read(SETTINGS[name], layer[name], origin)
                if cap and _is_lower(cap, str(changed.get(name, values[name]).value)):
                    changed[name] = Value(cap, origin)
        if "price" in layer:
            changed[PRICE_FLOOR] = Value(_read(SETTINGS["price"], layer["price"], origin), origin)
    return changed


def _is_lower(cap: str, other: str) -> bool:
    from agentos.money import parse_dollars

    return not other or parse_dollars(cap) < parse_dollars(other)


def _read(setting: Setting, given: Any, origin: str) -> Any:
    try:
        return setting.read(given)
    except (ValueError, UsageError) as error:
        place = {"flag": f"--{setting.name.replace('_', '-')}", "environment": setting.variable}.get(origin)
        raise UsageError(f"{place or f'{origin}: {setting.name}'}: {error}") from None


def _repository_layers(repository: Path) -> list[tuple[str, dict[str, Any]]]:
    places = (
        (repository / "agentos.toml", ()),
        (repository / ".agentos" / "config.toml", ()),
        (repository / "pyproject.toml", ("tool", "agentos")),
    )
    return [(path.relative_to(repository).as_posix(), _read_toml(path, keys)) for path, keys in places]


def _read_toml(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); correct its permissions") from None
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
            close = difflib.get_close_matches(name, SETTINGS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(SETTINGS)}"
            raise UsageError(f"{path}: unknown setting {name!r}; {hint}")
    return table
