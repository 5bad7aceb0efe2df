"""Prices are found by provider, model and day, and money is never rounded in our
favour.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.errors import UsageError
from agentos.gateway.prices import (
    FRAMING_TOKENS,
    SCHEMA_TOKENS,
    Price,
    Rates,
    Tier,
    cost_of,
    cost_of_answer,
    cost_of_failure,
    flat_price,
    parse_price,
    price_of,
    worst_case,
)
from agentos.gateway.providers import Completion, Request, ask_once
from agentos.gateway.providers.records import BUILT_IN
from agentos.gateway.providers.tokens import least_tokens, most_tokens
from agentos.money import DOLLAR, Cost, format_dollars, parse_dollars
from agentos.usage import NOTHING, UNKNOWN, Consumed, Usage

DAY = datetime(2026, 11, 1, tzinfo=UTC)
rates = st.integers(0, 10**9)
tokens = st.integers(0, 10**9)
prices = st.builds(
    lambda low, high, starts: Price(
        Rates(*low),
        "test",
        tuple(Tier(start, Rates(*high)) for start in sorted(starts)),
    ),
    st.tuples(rates, rates, rates, rates),
    st.tuples(rates, rates, rates, rates),
    st.sets(st.integers(0, 10**6), max_size=2),
)


def ask(prompt: str, max_output_tokens: int = 0, schema: str = "") -> Request:
    return Request(
        "r",
        "lld",
        "7",
        "n",
        1,
        1,
        "lld.draft",
        "openai:m",
        ask_once(prompt),
        {},
        schema,
        max_output_tokens,
    )


@pytest.mark.parametrize(
    ("provider", "model", "given", "returned"),
    [
        ("anthropic", "claude-sonnet-4-5", 3.0, 15.0),
        ("anthropic", "claude-opus-4-5-20251101", 5.0, 25.0),
        ("gemini", "gemini-2.5-pro", 1.25, 10.0),
        ("gemini", "gemini-2.5-flash", 0.3, 2.5),
        ("openai", "gpt-4o", 2.5, 10.0),
        ("openai", "gpt-4o-mini-2024-07-18", 0.15, 0.6),
    ],
)
def test_published_prices_are_known(
    provider: str, model: str, given: float, returned: float
) -> None:
    price = price_of(provider, model, {}, at=DAY)
    assert price is not None
    assert (price.rates.fresh, price.rates.output) == (
        given * DOLLAR,
        returned * DOLLAR,
    )
    assert price.source.startswith("genai-prices")


def test_the_price_is_that_of_the_day() -> None:
    before = price_of("openai", "o3", {}, at=datetime(2025, 6, 9, tzinfo=UTC))
    after = price_of("openai", "o3", {}, at=datetime(2025, 6, 11, tzinfo=UTC))
    assert before is not None
    assert after is not None
    assert before.rates.fresh == 5 * after.rates.fresh == 10 * DOLLAR


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "llama3"),
        ("openai", ""),
        ("gemini", "gemini-none"),
        ("anthropic", "claude"),
        ("openai", "text-embedding-3-large"),
    ],
)
def test_a_price_that_nobody_knows_is_none(provider: str, model: str) -> None:
    assert price_of(provider, model, {}) is None


def test_what_runs_here_or_on_a_login_of_its_own_is_free() -> None:
    for provider in ("offline", "claude-cli"):
        price = price_of(provider, "sonnet", {})
        assert price is not None
        assert worst_case(price, ask("x" * 10_000, 32_000)) == 0
    assert price_of("claude-cli", "claude-sonnet-4-5", {}, has_key=True) == price_of(
        "anthropic", "claude-sonnet-4-5", {}
    )


def test_a_price_that_was_given_goes_before_any_other() -> None:
    given = dict(
        parse_price(text)
        for text in ("openai:gpt-4o=1/2", "openai:*=3/4", "claude-cli:*=5/6")
    )
    for provider, model, expected in (
        ("openai", "gpt-4o", 1),
        ("openai", "llama3:8b", 3),
        ("claude-cli", "sonnet", 5),
    ):
        price = price_of(provider, model, given)
        assert price is not None
        assert price.rates.fresh == expected * DOLLAR


def test_long_inputs_cost_what_the_higher_tier_says() -> None:
    price = price_of("gemini", "gemini-2.5-pro", {}, at=DAY)
    assert price is not None
    assert cost_of(price, Usage(200_000, 1_000_000)) == (250_000 + 10 * DOLLAR)
    assert cost_of(price, Usage(200_001, 1_000_000)) == (500_003 + 15 * DOLLAR)
    assert worst_case(price, ask("x" * 199_000, 1_000_000)) == 250_000 + 10 * DOLLAR
    assert worst_case(price, ask("x" * 199_001, 1_000_000)) == 500_003 + 15 * DOLLAR


@given(prices, tokens, tokens)
def test_a_cost_is_never_negative_and_never_rounded_down(
    price: Price, given: int, returned: int
) -> None:
    rate = price.reachable_rates(given)[-1]
    exact = Fraction(given * rate.fresh + returned * rate.output, 1_000_000)
    cost = cost_of(price, Usage(given, returned))
    assert 0 <= exact <= cost < exact + 1
    assert cost_of(price, Usage(-given, -returned)) == 0


@given(
    prices,
    st.text(max_size=200),
    st.integers(0, 10**6),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_no_call_within_its_bounds_costs_more_than_its_worst_case(
    price: Price, prompt: str, most: int, share_in: int, share_out: int
) -> None:
    used = Usage(
        (len(prompt.encode()) + FRAMING_TOKENS) * share_in // 100,
        most * share_out // 100,
    )
    assert cost_of(price, used) <= worst_case(price, ask(prompt, most))
    assert worst_case(price, ask(prompt, most)) <= worst_case(
        price, ask(prompt, most, "verdict")
    )


@given(st.text(st.characters(), max_size=50))
def test_a_bound_of_tokens_is_no_less_than_the_bytes_of_any_form_of_the_text(
    text: str,
) -> None:
    import unicodedata

    assert most_tokens(text) >= len(text.encode("utf-8", "surrogatepass"))
    assert most_tokens(text) >= len(
        unicodedata.normalize("NFKC", text).encode("utf-8", "surrogatepass")
    )


def test_a_character_that_grows_when_normalised_counts_as_grown() -> None:
    assert most_tokens("\ufdfa" * 1_000) == 33_000
    assert most_tokens("\u1e17\u032d") >= 7
    assert most_tokens("a\u2014b\uac01") == 8
    assert most_tokens("\ud800") == 3


def test_room_is_kept_for_a_schema() -> None:
    price = flat_price(DOLLAR, 0, "")
    assert (
        worst_case(price, ask("x", schema="verdict")) - worst_case(price, ask("x"))
        == SCHEMA_TOKENS
    )


@pytest.mark.parametrize(
    ("text", "name", "given", "returned"),
    [
        ("openai:llama3=0.10/0.40", "openai:llama3", 100_000, 400_000),
        (" openai:llama3:8b = 0/0 ", "openai:llama3:8b", 0, 0),
        ("gemini:*=$1/$2.5", "gemini:*", 1_000_000, 2_500_000),
        ("openai:a=b=1/2", "openai:a=b", 1_000_000, 2_000_000),
    ],
)
def test_a_price_is_read(text: str, name: str, given: int, returned: int) -> None:
    read, price = parse_price(text)
    assert (read, price.rates.fresh, price.rates.output) == (name, given, returned)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a price: give it as provider:model=IN/OUT"),
        ("openai:m", "is not a price"),
        ("openai=1/2", "is not a price"),
        ("openai:=1/2", "is not a price"),
        ("nobody:m=1/2", r"unknown provider 'nobody'.*openai"),
        ("openai:m=1", "1 prices and needs two to four"),
        ("openai:m=1/2/3/4/5", "5 prices and needs two to four"),
        ("openai:m=1/x", "'x' is not an amount in dollars"),
        ("openai:m=-1/2", "'-1' is not an amount"),
        ("openai:m=1e3/2", "'1e3' is not an amount"),
        ("openai:m=nan/2", "'nan' is not an amount"),
        ("openai:m=0.0000001/2", "six decimals"),
        ("openai:m=1000001/2", "more than 1000000 dollars"),
        ("openai:m=" + "9" * 100_000 + "/2", "more than 1000000 dollars"),
    ],
)
def test_what_is_no_price_is_explained(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        parse_price(text)
    assert len(str(caught.value)) < 1_000


@given(st.text(max_size=40))
def test_any_text_is_a_price_or_a_clear_error(text: str) -> None:
    for written in (text, f"openai:m={text}", f"openai:{text}=1/2"):
        try:
            name, price = parse_price(written)
        except UsageError:
            continue
        assert name.partition(":")[0] in BUILT_IN
        assert price.rates.fresh >= 0 <= price.rates.output


@given(st.integers(0, 10**12 - 100))
def test_an_amount_is_read_as_it_was_written_and_said_no_lower(amount: int) -> None:
    assert parse_dollars(f"{amount // DOLLAR}.{amount % DOLLAR:06}") == amount
    assert amount <= parse_dollars(format_dollars(amount)) < amount + 100


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (0, "$0.00"),
        (1, "$0.0001"),
        (4_800_000, "$4.80"),
        (12_300, "$0.0123"),
        (5_000_001, "$5.0001"),
    ],
)
def test_amounts_are_said_as_people_do(amount: int, said: str) -> None:
    assert format_dollars(amount) == said


def test_importing_prices_does_not_import_the_package_of_prices() -> None:
    program = "import sys, agentos.gateway.journal.sqlite as _; print([m for m in sys.modules if 'genai_prices' in m])"
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True
        ).stdout
        == "[]\n"
    )


def test_cached_and_written_input_is_priced_as_such() -> None:
    price = price_of("anthropic", "claude-opus-4-5", {}, at=DAY)
    assert price is not None
    usage = Usage(1_000_000, 0, cached_tokens=600_000, cache_written_tokens=300_000)
    assert cost_of(price, usage) == (0.1 * 5 + 0.6 * 0.5 + 0.3 * 6.25) * DOLLAR
    _, given = parse_price("openai:m=10/0/1/20")
    assert cost_of(given, usage) == (0.1 * 10 + 0.6 * 1 + 0.3 * 20) * DOLLAR
    _, plain = parse_price("openai:m=10/0")
    assert cost_of(plain, usage) == 10 * DOLLAR


@given(prices, tokens, tokens, tokens, tokens, st.text(max_size=200))
def test_no_call_costs_more_than_its_worst_case(
    price: Price, given: int, returned: int, cached: int, written: int, prompt: str
) -> None:
    request = ask(prompt, max_output_tokens=returned)
    usage = Usage(
        min(given, most_tokens(prompt) + FRAMING_TOKENS), returned, cached, written
    )
    assert cost_of(price, usage) <= worst_case(price, request)


def test_what_a_server_charges_goes_before_any_price() -> None:
    assert cost_of(flat_price(DOLLAR, DOLLAR, ""), Usage(10**6, 10**6, cost=17)) == 17


def test_a_failed_call_costs_what_is_known_of_it_and_may_cost_the_rest() -> None:
    price, request = (
        flat_price(DOLLAR, DOLLAR, ""),
        ask("x" * 1000, max_output_tokens=5_000),
    )
    assert cost_of_failure(price, request, NOTHING) == Cost()
    assert cost_of_failure(price, request, UNKNOWN) == Cost(
        0, 1000 + FRAMING_TOKENS + 5_000
    )
    assert cost_of_failure(price, request, Consumed(Usage(300, 40))) == Cost(
        340, 300 + 5_000
    )
    assert cost_of_failure(
        price, request, Consumed(Usage(300, 40), is_final=True)
    ) == Cost.exactly(340)
    assert cost_of_answer(
        price, request, Completion("ok", "m", Usage(300, 40))
    ) == Cost.exactly(340)
    partly = Completion("ok", "m", Usage(300, 40), is_counted=False)
    assert cost_of_answer(price, request, partly) == Cost(340, 300 + 5_000)
    assert cost_of_answer(price, request, Completion("word " * 100, "m")) == Cost(
        least_tokens("word " * 100), 1000 + FRAMING_TOKENS + 5_000
    )


@given(st.text(max_size=300))
def test_no_text_has_fewer_tokens_at_most_than_at_least(text: str) -> None:
    assert least_tokens(text) <= most_tokens(text)
