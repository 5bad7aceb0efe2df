"""What a call costs, and what it can cost at the most; all money is whole micro-dollars, rounded up."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from agentos.errors import UsageError
from agentos.providers import PROVIDERS, Request, Usage

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices

DOLLAR = 1_000_000
"""Micro-dollars in a dollar."""
MILLION = 1_000_000
DEAREST = 1_000_000 * DOLLAR
"""No price and no cap is higher than this: a slip of the finger, not a price."""
ANY_MODEL = "*"
FRAMING_TOKENS = 1_000
"""Room for what providers put around a prompt: roles, turn marks, their own few sentences about tools."""
SCHEMA_TOKENS = 8_000
"""Room for a JSON schema, which is sent and billed beside the prompt."""
PRICE_FORM = "give it as provider:model=IN/OUT in dollars per million tokens, as openai:llama3=0.10/0.40"

_PRICED_AS = {"anthropic": "anthropic", "gemini": "google", "openai": "openai"}
_FREE = {"offline": "offline answers cost nothing", "claude-cli": "paid for by the login of claude itself"}


@dataclass(frozen=True, slots=True)
class Tier:
    """The rates for a call with more than `above` tokens of input; they hold for all of its tokens."""

    above: int
    input_per_million: int
    output_per_million: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, in micro-dollars per million tokens."""

    input_per_million: int
    output_per_million: int
    source: str
    """Where the price is from, for people."""
    tiers: tuple[Tier, ...] = ()
    """Other rates for long inputs, lowest threshold first."""

    def rates(self) -> tuple[Tier, ...]:
        """Return all rates, lowest threshold first."""
        return (Tier(-1, self.input_per_million, self.output_per_million), *self.tiers)


FREE = Price(0, 0, "free of charge")


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
        return Price(0, 0, _FREE[provider])
    if provider not in _PRICED_AS or not model:
        return None
    return _published_price(_PRICED_AS[provider], model, at or datetime.now(UTC))


def cost_of(price: Price, usage: Usage) -> int:
    """Return what a call cost, at the rates for the input it really had."""
    tokens_in, tokens_out = max(0, usage.input_tokens), max(0, usage.output_tokens)
    rate = next(rate for rate in reversed(price.rates()) if tokens_in > rate.above)
    return _round_up(tokens_in * rate.input_per_million + tokens_out * rate.output_per_million, MILLION)


def worst_case(price: Price, request: Request) -> int:
    """Return what a call can cost at the most, at the dearest rates that its input can reach."""
    tokens = most_tokens(request.prompt) + FRAMING_TOKENS + (SCHEMA_TOKENS if request.schema else 0)
    reachable = [rate for rate in price.rates() if tokens > rate.above]
    dearest_in = max(rate.input_per_million for rate in reachable)
    dearest_out = max(rate.output_per_million for rate in reachable)
    return _round_up(tokens * dearest_in + max(0, request.max_output_tokens) * dearest_out, MILLION)


def most_tokens(text: str) -> int:
    """Return a number of tokens that no tokenizer exceeds for this text.

    Byte-level tokenizers join bytes and never split one, so there are at most as many tokens as UTF-8 bytes; one byte
    a token does occur, in rare scripts and in noise, so nothing smaller is safe. Some tokenizers (Claude's is known
    to) first bring text into Unicode's NFKC form, which makes 33 bytes of one Arabic ligature of 3: each character
    counts with its parts when those are longer.
    """
    if text.isascii():
        return len(text)
    beyond_ascii = re.sub(r"[\x00-\x7f]+", "", text)
    counts = Counter(beyond_ascii)
    return len(text) - len(beyond_ascii) + sum(times * _longest_form(char) for char, times in counts.items())


def _longest_form(character: str) -> int:
    # The parts of a Korean syllable always come together again, those of others may be kept apart by what follows.
    form: Literal["NFKC", "NFKD"] = "NFKC" if "\uac00" <= character <= "\ud7a3" else "NFKD"
    return max(
        len(text.encode("utf-8", "surrogatepass")) for text in (character, unicodedata.normalize(form, character))
    )


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
    given, slash, returned = amounts.partition("/")
    if not slash:
        raise UsageError(f"{text[:200]!r} has one price and needs two: {PRICE_FORM}")
    try:
        price = Price(parse_dollars(given), parse_dollars(returned), "given in the settings")
    except UsageError as error:
        raise UsageError(f"{text[:200]!r}: {error}") from None
    return f"{provider}:{model}", price


def parse_dollars(text: str) -> int:
    """Read an amount such as `5`, `0.25` or `$1.50`; return micro-dollars."""
    whole, point, fraction = text.strip().removeprefix("$").partition(".")
    digits = whole + fraction
    if not (digits.isascii() and digits.isdigit()) or (point and not fraction):
        raise UsageError(f"{text[:80]!r} is not an amount in dollars; write it as 5 or 0.25")
    if len(fraction) > 6:
        raise UsageError(f"{text[:80]!r} is finer than a millionth of a dollar; use six decimals at the most")
    amount = int(whole[-9:] or "0") * DOLLAR + int(fraction.ljust(6, "0"))
    if len(whole.lstrip("0")) > 9 or amount > DEAREST:
        raise UsageError(f"{text[:80]!r} is more than {DEAREST // DOLLAR} dollars")
    return amount


def say_dollars(amount: int) -> str:
    """Say micro-dollars as people do, rounded up: `$4.80`, `$0.0123`."""
    whole, fraction = divmod(_round_up(amount, 100), DOLLAR // 100)
    return f"${whole}.{f'{fraction:04}'.rstrip('0').ljust(2, '0')}"


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
    return _convert(found.get_prices(at), f"genai-prices, {found.id}")


def _convert(prices: ModelPrice, source: str) -> Price | None:
    given, returned = prices.input_mtok, prices.output_mtok
    if given is None or returned is None:
        return None
    starts = sorted({tier.start for side in (given, returned) for tier in getattr(side, "tiers", ())})
    tiers = tuple(Tier(start, _rate_above(given, start), _rate_above(returned, start)) for start in starts)
    return Price(_rate_above(given, -1), _rate_above(returned, -1), source, tiers)


def _rate_above(price: Decimal | TieredPrices, start: int) -> int:
    from genai_prices.types import TieredPrices

    if isinstance(price, TieredPrices):
        rate = next((tier.price for tier in reversed(price.tiers) if tier.start <= start), price.base)
    else:
        rate = price
    numerator, denominator = rate.as_integer_ratio()
    return _round_up(numerator * DOLLAR, denominator)


def _round_up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
