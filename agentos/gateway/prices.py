"""What a model costs, what a call cost, and what it can cost at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentos.errors import UsageError
from agentos.money import DOLLAR, Cost, parse_dollars, round_up
from agentos.providers import PROVIDERS, Completion, Consumed, Request, Usage
from agentos.providers.tokens import least_tokens, most_tokens

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices

MILLION = 1_000_000
ANY_MODEL = "*"
FRAMING_TOKENS = 1_000
"""Room for what providers put around a prompt: roles, turn marks, their own few sentences about tools."""
SCHEMA_TOKENS = 8_000
"""Room for a JSON schema, which is sent and billed beside the prompt."""
PRICE_FORM = (
    "give it as provider:model=IN/OUT in dollars per million tokens; "
    "the prices of cached and of cache-written input may follow, as IN/OUT/CACHED/WRITTEN"
)

_PRICED_AS = {"anthropic": "anthropic", "gemini": "google", "openai": "openai"}
_FREE = {"offline": "offline answers cost nothing", "claude-cli": "paid for by the login of claude itself"}


@dataclass(frozen=True, slots=True)
class Rates:
    """Micro-dollars per million tokens."""

    fresh: int
    """Of input that no cache is involved in."""
    output: int
    cached: int
    """Of input that is read from a cache."""
    written: int
    """Of input that is written to a cache."""

    def raised_to(self, other: Rates) -> Rates:
        """Return the higher one of each two rates."""
        return Rates(
            max(self.fresh, other.fresh),
            max(self.output, other.output),
            max(self.cached, other.cached),
            max(self.written, other.written),
        )

    @property
    def dearest_input(self) -> int:
        """The most that a token of input can cost."""
        return max(self.fresh, self.cached, self.written)

    def cost(self, usage: Usage) -> int:
        """Return what a call costs at these rates."""
        cached = min(max(0, usage.cached_tokens), max(0, usage.input_tokens))
        written = min(max(0, usage.cache_written_tokens), max(0, usage.input_tokens) - cached)
        fresh = max(0, usage.input_tokens) - cached - written
        total = fresh * self.fresh + cached * self.cached + written * self.written
        return round_up(total + max(0, usage.output_tokens) * self.output, MILLION)


@dataclass(frozen=True, slots=True)
class Tier:
    """The rates for a call with more than `above` tokens of input; they hold for all of its tokens."""

    above: int
    rates: Rates


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs."""

    rates: Rates
    source: str
    """Where the price is from, for people."""
    tiers: tuple[Tier, ...] = ()
    """Other rates for long inputs, lowest threshold first."""
    context: int = 0
    """How many tokens prompt and answer may have together, 0 where nobody says."""

    def raised_to(self, other: Price) -> Price:
        """Return a price that is nowhere lower than another one's lowest rates."""
        tiers = tuple(Tier(tier.above, tier.rates.raised_to(other.rates)) for tier in self.tiers)
        return replace(self, rates=self.rates.raised_to(other.rates), tiers=tiers)

    def all_tiers(self) -> tuple[Tier, ...]:
        """Return all rates, lowest threshold first."""
        return (Tier(-1, self.rates), *self.tiers)

    def rates_for(self, input_tokens: int) -> Rates:
        """Return the rates of a call with so much input."""
        return next(tier.rates for tier in reversed(self.all_tiers()) if input_tokens > tier.above)


def flat_price(given: int, returned: int, source: str, cached: int | None = None, written: int | None = None) -> Price:
    """Return a price without tiers; input that a cache is involved in costs what other input does, unless told."""
    cached = given if cached is None else cached
    written = given if written is None else written
    return Price(Rates(given, returned, cached, written), source)


FREE = flat_price(0, 0, "free of charge")


def price_of(
    provider: str, model: str, overrides: Mapping[str, Price], *, has_key: bool = False, at: datetime | None = None
) -> Price | None:
    """Return the price of a model at a moment, None when nobody knows it.

    `overrides` are by `provider:model` or `provider:*`. With a key of ours the claude command is billed by Anthropic.
    """
    for name in (f"{provider}:{model}", f"{provider}:{ANY_MODEL}"):
        if name in overrides:
            return overrides[name]
    if provider == "claude-cli" and has_key:
        provider = "anthropic"
    if provider in _FREE:
        return replace(FREE, source=_FREE[provider])
    if provider not in _PRICED_AS or not model:
        return None
    return _published_price(_PRICED_AS[provider], model, at or datetime.now(UTC))


def cost_of(price: Price, usage: Usage) -> int:
    """Return what a call cost: as the server says, else at the rates for the input it really had."""
    if usage.cost is not None:
        return usage.cost
    return price.rates_for(max(0, usage.input_tokens)).cost(usage)


def worst_case(price: Price, request: Request) -> int:
    """Return what a call can cost at most, at the dearest rates that its input can reach."""
    tokens = most_tokens(request.prompt) + FRAMING_TOKENS + (SCHEMA_TOKENS if request.schema else 0)
    reachable = [tier.rates for tier in price.all_tiers() if tokens > tier.above]
    dearest_in = max(rates.dearest_input for rates in reachable)
    dearest_out = max(rates.output for rates in reachable)
    return round_up(tokens * dearest_in + max(0, request.max_output_tokens) * dearest_out, MILLION)


def cost_of_answer(price: Price, request: Request, completion: Completion) -> Cost:
    """Return what an answered call cost; of a server that does not count only a range is known."""
    usage = completion.usage
    is_counted = bool(usage.input_tokens or usage.output_tokens or usage.cost is not None)
    if is_counted:
        return cost_of_failure(price, request, Consumed(usage, is_final=completion.is_counted))
    return cost_of_failure(price, request, Consumed(Usage(output_tokens=least_tokens(completion.text))))


def cost_of_failure(price: Price, request: Request, consumed: Consumed) -> Cost:
    """Return what a failed call cost: what was counted or seen of it, and what it may have cost at most.

    Where the provider's own count of the whole call is missing, the model may have thought, unseen, up to the output
    limit. Where it counted the input, that much of the worst case is known.
    """
    known = cost_of(price, consumed.usage)
    if consumed.is_final:
        return Cost.exactly(known)
    most = worst_case(price, request)
    if consumed.usage.input_tokens:
        output = max(request.max_output_tokens, consumed.usage.output_tokens)
        most = min(most, cost_of(price, replace(consumed.usage, output_tokens=output, cost=None)))
    return Cost(known, max(known, most))


def parse_price(text: str) -> tuple[str, Price]:
    """Read `provider:model=IN/OUT`; return `provider:model` and its price."""
    name, equals, amounts = text.strip().rpartition("=")
    provider, colon, model = (part.strip() for part in name.partition(":"))
    if not equals or not colon or not model:
        raise UsageError(f"{text[:200]!r} is not a price: {PRICE_FORM}")
    if provider not in PROVIDERS:
        raise UsageError(
            f"unknown provider {provider[:80]!r} in {text[:200]!r}: use one of {', '.join(sorted(PROVIDERS))}"
        )
    parts = amounts.split("/")
    if not 2 <= len(parts) <= 4:
        raise UsageError(f"{text[:200]!r} has {len(parts)} prices and needs two to four: {PRICE_FORM}")
    try:
        given, returned, *of_caches = (parse_dollars(part) for part in parts)
    except UsageError as error:
        raise UsageError(f"{text[:200]!r}: {error}") from None
    return f"{provider}:{model}", flat_price(given, returned, "given in the settings", *of_caches)


def _published_price(provider: str, model: str, at: datetime) -> Price | None:
    # Late, because the package takes a while to import; its data is in it, so nothing is fetched.
    try:
        from genai_prices import data_snapshot
    except ImportError:
        extra = {"google": "gemini"}.get(provider, provider)
        raise UsageError(
            f"prices are not installed: pip install 'agentos[{extra}]', or give them with --price"
        ) from None

    try:
        _, found = data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    price = _convert(found.get_prices(at), f"genai-prices, {found.id}")
    return price and replace(price, context=found.context_window or 0)


def _convert(prices: ModelPrice, source: str) -> Price | None:
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    named = (prices.input_mtok, prices.output_mtok, prices.cache_read_mtok, prices.cache_write_mtok)
    starts = {tier.start for price in named if price is not None for tier in getattr(price, "tiers", ())}
    tiers = tuple(Tier(start, _rates_above(named, start)) for start in sorted(starts))
    return Price(_rates_above(named, -1), source, tiers)


def _rates_above(named: tuple[Decimal | TieredPrices | None, ...], start: int) -> Rates:
    given, returned, cached, written = (None if price is None else _rate_above(price, start) for price in named)
    fresh = given or 0
    return Rates(fresh, returned or 0, fresh if cached is None else cached, fresh if written is None else written)


def _rate_above(price: Decimal | TieredPrices, start: int) -> int:
    from genai_prices.types import TieredPrices

    if isinstance(price, TieredPrices):
        rate = next((tier.price for tier in reversed(price.tiers) if tier.start <= start), price.base)
    else:
        rate = price
    numerator, denominator = rate.as_integer_ratio()
    return round_up(numerator * DOLLAR, denominator)
