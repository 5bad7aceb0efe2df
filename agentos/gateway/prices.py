"""Look up the price of a model, and compute the actual and highest cost of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentos.errors import AgentOSError, UsageError
from agentos.gateway.providers import Completion, ProviderRecord, Request
from agentos.gateway.providers.records import BUILT_IN
from agentos.gateway.providers.registry import check_name, find_record
from agentos.gateway.providers.tokens import least_tokens, most_tokens
from agentos.money import DOLLAR, Cost, parse_dollars, round_up
from agentos.state.files import read_regular
from agentos.usage import Consumed, Usage

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices

MILLION = 1_000_000
NEWER_PRICES = "prices.json"
"""File of the home with newer prices than those of the installed package."""
LARGEST_PRICES = 50_000_000
_PRICED = {record.price_id for record in BUILT_IN.values() if record.price_id}
ANY_MODEL = "*"
FRAMING_TOKENS = 1_000
"""Tokens reserved for what providers add to a prompt: roles, turn markers, a few
sentences about tools.
"""
SCHEMA_TOKENS = 8_000
"""Tokens reserved for a JSON schema, which is billed like the prompt."""
PRICE_FORM = (
    "give it as provider:model=IN/OUT in dollars per million tokens; the prices of"
    " cached and of cache-written input may follow, as IN/OUT/CACHED/WRITTEN"
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Micro-dollars per million tokens."""

    fresh: int
    """For input without a cache."""
    output: int
    cached: int
    """For input that is read from a cache."""
    written: int
    """For input that is written to a cache."""

    def raised_to(self, other: Rates) -> Rates:
        """Return the maximum of each pair of rates."""
        return Rates(
            max(self.fresh, other.fresh),
            max(self.output, other.output),
            max(self.cached, other.cached),
            max(self.written, other.written),
        )

    @property
    def dearest_input(self) -> int:
        """Highest rate of an input token."""
        return max(self.fresh, self.cached, self.written)

    def cost(self, usage: Usage) -> int:
        """Return the cost of a call at these rates."""
        fresh = max(0, usage.input_tokens)
        output = max(0, usage.output_tokens)
        cached = max(0, usage.cached_tokens)
        cached = min(cached, fresh)
        fresh -= cached
        written = max(0, usage.cache_written_tokens)
        written = min(written, fresh)
        fresh -= written
        total = fresh * self.fresh
        total += cached * self.cached
        total += written * self.written
        total += output * self.output
        return round_up(total, MILLION)


@dataclass(frozen=True, slots=True)
class Tier:
    """Rates of a call with more than `above` input tokens; they hold for all its
    tokens.
    """

    above: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a model."""

    rates: Rates
    source: str
    """Origin of the price, for messages."""
    tiers: tuple[Tier, ...] = ()
    """Rates for long inputs, lowest threshold first."""
    context: int = 0
    """Size of the context window in tokens, 0 when unknown."""

    def raised_to(self, other: Price) -> Price:
        """Return this price raised to the base rates of another one."""
        tiers = []
        for tier in self.tiers:
            rates = tier.rates.raised_to(other.rates)
            raised = Tier(tier.above, rates)
            tiers.append(raised)
        rates = self.rates.raised_to(other.rates)
        return replace(self, rates=rates, tiers=tuple(tiers))

    def reachable_rates(self, input_tokens: int) -> list[Rates]:
        """Return the rates of all tiers up to some input, lowest threshold first."""
        reached = [tier for tier in self.tiers if tier.above < input_tokens]
        higher = [tier.rates for tier in reached]
        return [self.rates, *higher]


def flat_price(
    given: int,
    returned: int,
    source: str,
    cached: int | None = None,
    written: int | None = None,
) -> Price:
    """Return a price without tiers; cached input costs as much as other input unless
    given.
    """
    if cached is None:
        cached = given
    if written is None:
        written = given
    rates = Rates(given, returned, cached, written)
    return Price(rates, source)


FREE = flat_price(0, 0, "free of charge")


def price_of(
    provider: str,
    model: str,
    overrides: Mapping[str, Price],
    *,
    has_key: bool = False,
    at: datetime | None = None,
) -> Price | None:
    """Return the price of a model at a time, None when it is unknown.

    `overrides` are by `provider:model` or `provider:*`.
    """
    for name in (model, ANY_MODEL):
        spec = f"{provider}:{name}"
        override = overrides.get(spec)
        if override is not None:
            return override
    record = find_record(provider)
    is_billed = has_key and record.price_id
    if record.free_because and not is_billed:
        return replace(FREE, source=record.free_because)
    if not record.has_keys:
        return replace(FREE, source=f"{provider} needs no key")
    if not record.price_id or not model:
        return None
    moment = at or datetime.now(UTC)
    return _published_price(record, model, moment)


def cost_of(price: Price, usage: Usage) -> int:
    """Return the cost of a call as the server reports it, or at the rates for its
    input.
    """
    if usage.cost is not None:
        return usage.cost
    reachable = price.reachable_rates(usage.input_tokens)
    rates = reachable[-1]
    return rates.cost(usage)


def saved_by_cache(price: Price, usage: Usage) -> int:
    """Return what reading from the cache saved, less what writing to it cost; 0 when
    the server reports the cost itself.
    """
    if usage.cost is not None:
        return 0
    uncached = replace(usage, cached_tokens=0, cache_written_tokens=0)
    return cost_of(price, uncached) - cost_of(price, usage)


def worst_case(price: Price, request: Request) -> int:
    """Return the highest possible cost of a call, at the dearest rates within reach."""
    tokens = most_tokens(request.prompt) + FRAMING_TOKENS
    if request.schema:
        tokens += SCHEMA_TOKENS
    output = max(0, request.max_output_tokens)
    dearest, *others = price.reachable_rates(tokens)
    for rates in others:
        dearest = dearest.raised_to(rates)
    total = tokens * dearest.dearest_input
    total += output * dearest.output
    return round_up(total, MILLION)


def cost_of_answer(price: Price, request: Request, completion: Completion) -> Cost:
    """Return the cost of an answered call, a range when the server does not count."""
    usage = completion.usage
    has_tokens = usage.input_tokens or usage.output_tokens
    if has_tokens or usage.cost is not None:
        consumed = Consumed(usage, is_final=completion.is_counted)
    else:
        seen = least_tokens(completion.text)
        consumed = Consumed(Usage(output_tokens=seen))
    return cost_of_failure(price, request, consumed)


def cost_of_failure(price: Price, request: Request, consumed: Consumed) -> Cost:
    """Return the cost of a failed call: the known amount and the highest possible one.

    Without the provider's own count of the whole call, the model may have used hidden
    thinking up to the output limit. If the provider counted the input, the worst case
    uses that count.
    """
    usage = consumed.usage
    known = cost_of(price, usage)
    if consumed.is_final:
        return Cost.exactly(known)
    most = worst_case(price, request)
    if usage.input_tokens:
        output = max(request.max_output_tokens, usage.output_tokens)
        longest = replace(usage, output_tokens=output, cost=None)
        most = min(most, cost_of(price, longest))
    return Cost(known, max(known, most))


def parse_price(text: str) -> tuple[str, Price]:
    """Parse `provider:model=IN/OUT` into `provider:model` and its price."""
    shown = repr(text[:200])
    given = text.strip()
    name, equals, amounts = given.rpartition("=")
    provider, colon, model = name.partition(":")
    provider = provider.strip()
    model = model.strip()
    if not equals or not colon or not model:
        raise UsageError(f"{shown} is not a price: {PRICE_FORM}")
    try:
        check_name(provider)
    except UsageError as error:
        raise UsageError(f"{shown}: {error}") from None
    parts = amounts.split("/")
    if not 2 <= len(parts) <= 4:
        raise UsageError(
            f"{shown} has {len(parts)} prices and needs two to four: {PRICE_FORM}"
        )
    try:
        amount_in, amount_out, *of_caches = map(parse_dollars, parts)
    except UsageError as error:
        raise UsageError(f"{shown}: {error}") from None
    if len(of_caches) < 2:
        record = BUILT_IN.get(provider)
        factor = record.cache_write_percent if record else 100
        cached = of_caches[0] if of_caches else amount_in
        of_caches = [cached, round_up(amount_in * factor, 100)]
    price = flat_price(amount_in, amount_out, "given in the settings", *of_caches)
    return f"{provider}:{model}", price


def read_newer_prices(data: bytes) -> Any:
    """Read a data file of `genai-prices`, or raise `UsageError`."""
    from genai_prices import data_snapshot, types

    try:
        raw = json.loads(data)
        providers = types._providers_from_raw(raw)
        known = {provider.id for provider in providers}
    # The library documents no error for bad data.
    except Exception as error:
        raise UsageError(
            f"this is not a data file of genai-prices ({type(error).__name__}); its"
            " repository has one as prices/new_data/v2/data.json"
        ) from None
    missing = sorted(_PRICED - known)
    if missing:
        raise UsageError(
            f"this data file has no prices of {', '.join(missing)}; take a complete one"
        )
    return data_snapshot.DataSnapshot(providers=providers, from_auto_update=True)


def use_newer_prices(home: Path) -> None:
    """Use the prices that `agentos prices --refresh` has stored, if there are any."""
    path = home / NEWER_PRICES
    if not path.exists():
        return
    try:
        from genai_prices import data_snapshot
    except ImportError:
        return
    try:
        snapshot = read_newer_prices(read_regular(path, LARGEST_PRICES))
    except (AgentOSError, OSError) as error:
        raise UsageError(f"{path}: {error}; remove it, or refresh it again") from None
    data_snapshot.set_custom_snapshot(snapshot)


def _published_price(record: ProviderRecord, model: str, at: datetime) -> Price | None:
    # Imported late, because it is slow; the package contains its data, so nothing is
    # downloaded.
    try:
        from genai_prices import data_snapshot
    except ImportError:
        package = "genai-prices"
        if record.extra:
            package = f"'agentos[{record.extra}]'"
        raise UsageError(
            f"prices are not installed: pip install {package}, or give them with"
            " --price"
        ) from None

    snapshot = data_snapshot.get_snapshot()
    try:
        _, found = snapshot.find_provider_model(model, None, record.price_id, None)
    except LookupError:
        return None
    prices = found.get_prices(at)
    context = found.context_window or 0
    return _convert(prices, f"genai-prices, {found.id}", context)


def _convert(prices: ModelPrice, source: str, context: int) -> Price | None:
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    starts = set()
    for price in (
        prices.input_mtok,
        prices.output_mtok,
        prices.cache_read_mtok,
        prices.cache_write_mtok,
    ):
        for tier in getattr(price, "tiers", ()):
            starts.add(tier.start)
    tiers = []
    for start in sorted(starts):
        rates = _rates_above(prices, start)
        tiers.append(Tier(start, rates))
    base = _rates_above(prices, -1)
    return Price(base, source, tuple(tiers), context)


def _rates_above(prices: ModelPrice, start: int) -> Rates:
    fresh = _rate_above(prices.input_mtok, start, 0)
    return Rates(
        fresh,
        _rate_above(prices.output_mtok, start, 0),
        _rate_above(prices.cache_read_mtok, start, fresh),
        _rate_above(prices.cache_write_mtok, start, fresh),
    )


def _rate_above(price: Decimal | TieredPrices | None, start: int, default: int) -> int:
    from genai_prices.types import TieredPrices

    if price is None:
        return default
    if isinstance(price, TieredPrices):
        rate = price.base
        for tier in price.tiers:
            if tier.start <= start:
                rate = tier.price
    else:
        rate = price
    numerator, denominator = rate.as_integer_ratio()
    return round_up(numerator * DOLLAR, denominator)
