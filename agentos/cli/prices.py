"""`agentos prices`: show what models cost, and take newer prices from a file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentos.cli.command import EPILOG, Arguments, Parser, align
from agentos.errors import BadInput, UsageError
from agentos.gateway.prices import (
    LARGEST_PRICES,
    NEWER_PRICES,
    Price,
    parse_price,
    price_of,
    read_newer_prices,
    use_newer_prices,
)
from agentos.gateway.providers import parse_model_spec
from agentos.gateway.roles import ROLES
from agentos.money import format_dollars
from agentos.state.files import (
    make_private_directory,
    read_regular,
    write_atomically,
)
from agentos.state.terminal_text import print_clean

EXAMPLES = """\
examples:
  agentos prices                               the models of your settings
  agentos prices anthropic:claude-opus-4-8     this model
  agentos prices --refresh data.json           use the prices of a newer data file of genai-prices

Prices are in dollars per million tokens. Nothing is downloaded: the newest data file is prices/new_data/v2/data.json
in the repository of genai-prices. For a model that it does not know, give a price with --price or in the settings."""


def add_arguments(parser: Parser) -> None:
    """Add the models and the file."""
    parser.describe(
        "agentos prices [P:MODEL...] [--refresh FILE] [options]",
        f"{parser.description}\n\n{EXAMPLES}",
        EPILOG,
    )
    parser.add_argument("models", nargs="*", metavar="P:MODEL", help="these models")
    parser.add_argument(
        "--refresh",
        type=Path,
        metavar="FILE",
        help="use the prices of this data file from now on",
    )
    parser.add_common_arguments()


def run(arguments: Arguments) -> int:
    """Show the prices, after taking newer ones if there are any."""
    home = arguments.home.root
    if arguments.refresh is not None:
        arguments.home.check_private()
        _refresh(arguments.refresh, home)
    use_newer_prices(home)
    values = arguments.resolve({})
    models = arguments.models
    if not models:
        named = [values[role].value for role in ROLES]
        models = list(dict.fromkeys(filter(None, named)))
    overrides = dict(map(parse_price, values["price"].value))
    rows = [("MODEL", "INPUT", "OUTPUT", "CACHED", "WRITTEN", "SOURCE")]
    found: dict[str, Any] = {}
    for model in models:
        price = _find(model, overrides)
        found[model] = _as_json(price)
        rows.append((model, *_describe(price)))
    source = _describe_source(home)
    document = {"source": source, "models": found}
    arguments.print_result(document, [*align(rows), f"Prices: {source}"])
    return 0


def _refresh(path: Path, home: Path) -> None:
    try:
        data = read_regular(path, LARGEST_PRICES)
    except (BadInput, OSError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None
    try:
        read_newer_prices(data)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    make_private_directory(home)
    write_atomically(home / NEWER_PRICES, data)
    print_clean(f"The prices of {path} are used from now on.\n")


def _find(model: str, overrides: Mapping[str, Price]) -> Price | None:
    spec = parse_model_spec(model)
    return price_of(spec.provider, spec.model, overrides, has_key=True)


def _describe(price: Price | None) -> tuple[str, ...]:
    if price is None:
        return "?", "?", "?", "?", "not known: give it with --price"
    rates = price.rates
    amounts = (rates.fresh, rates.output, rates.cached, rates.written)
    source = price.source
    if price.tiers:
        above = ", ".join(f"{tier.above:,}" for tier in price.tiers)
        source += f"; other prices above {above} input tokens"
    return (*map(format_dollars, amounts), source)


def _as_json(price: Price | None) -> dict[str, Any] | None:
    if price is None:
        return None
    names = ("input", "output", "cached", "written", "source")
    return dict(zip(names, _describe(price), strict=True))


def _describe_source(home: Path) -> str:
    path = home / NEWER_PRICES
    if path.exists():
        moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return f"{path}, stored on {moment:%Y-%m-%d}"
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"genai-prices {version('genai-prices')}, as installed"
    except PackageNotFoundError:
        return "genai-prices is not installed: pip install 'agentos[all]'"
