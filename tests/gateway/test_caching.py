"""Conversations are read from the providers' caches, and cost what the provider bills."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Any

import pytest

from agentos.gateway.journal.memory import MemoryJournal
from agentos.gateway.keys import Key
from agentos.gateway.keys.pool import Pool
from agentos.gateway.keys.store import Store
from agentos.gateway.prices import flat_price
from agentos.gateway.providers import Message, Speaker
from agentos.gateway.server import Gateway
from agentos.money import DOLLAR
from tests.gateway.providers.test_contract import DRAFT
from tests.scenario import Ledger, serve
from tests.scenario.script import CACHED_SHARE, WRITTEN_SHARE

for _sdk in ("anthropic", "google.genai", "openai"):
    pytest.importorskip(_sdk)

TURNS = 20
GROWTH = 4_000
"""Characters that a turn adds: a thousand tokens."""
PRICE_INPUT, PRICE_OUTPUT = 3.0, 15.0
SCRIPT: dict[str, Any] = {
    "price_input": PRICE_INPUT,
    "price_output": PRICE_OUTPUT,
    "cache_minimum": 1024,
}
PRICE = flat_price(
    int(PRICE_INPUT * DOLLAR),
    int(PRICE_OUTPUT * DOLLAR),
    "test",
    int(PRICE_INPUT * CACHED_SHARE * DOLLAR),
    int(PRICE_INPUT * WRITTEN_SHARE * DOLLAR),
)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL", "_PROXY")):
            monkeypatch.delenv(name)


def talk(provider: str, url: str, *, turns: int = TURNS, groups: int = 1) -> Gateway:
    """Hold a conversation that grows by a thousand tokens a turn."""
    base_url = url + ("/v1" if provider == "openai" else "")
    keys = [
        Key(provider, f"sk-cache-{number}", f"group-{number}", base_url=base_url)
        for number in range(groups)
    ]

    async def run() -> Gateway:
        pool = Pool(Store(":memory:"), lambda: keys, lambda _: None)
        gateway = Gateway(MemoryJournal("run"), pool, price=lambda _: PRICE)
        said = [Message(Speaker.SYSTEM, "You write designs.")]
        for turn in range(turns):
            text = f"turn {turn}: ".ljust(GROWTH, "x")
            said.append(Message(Speaker.USER, text, (len(text),)))
            request = replace(
                DRAFT,
                model=f"{provider}:m",
                messages=tuple(said),
                max_output_tokens=1000,
            )
            reply = await gateway.answer(request)
            said.append(Message(Speaker.ASSISTANT, reply.completion.text))
        await gateway.close()
        pool.close()
        return gateway

    return asyncio.run(run())


def see_bill(gateway: Gateway, ledger: Ledger) -> None:
    bill = sum(entry.cost for entry in ledger.admitted())
    assert gateway.costs.cost.is_exact
    # Each call is rounded up to a micro-dollar.
    assert 0 <= gateway.costs.cost.known / DOLLAR - bill < TURNS * 2e-6


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_a_conversation_that_grows_is_read_from_the_cache(provider: str) -> None:
    with serve(SCRIPT) as server:
        gateway = talk(provider, server.url)
        see_bill(gateway, server.ledger)
    assert gateway.costs.cached_share >= 0.85
    saved = gateway.costs.saved / DOLLAR
    assert saved > gateway.costs.cost.known / DOLLAR


def test_without_a_cache_nothing_is_saved() -> None:
    with serve({**SCRIPT, "cache_minimum": 0}) as server:
        gateway = talk("anthropic", server.url, turns=3)
        see_bill(gateway, server.ledger)
    assert (gateway.costs.cached_share, gateway.costs.saved) == (0.0, 0)


def test_a_beginning_that_has_expired_is_paid_for_again() -> None:
    with serve({**SCRIPT, "cache_life": 0.0}) as server:
        gateway = talk("anthropic", server.url, turns=3)
        see_bill(gateway, server.ledger)
    # Writing costs more than plain input, and nothing was read.
    assert gateway.costs.saved < 0


def test_a_conversation_stays_with_one_quota_group() -> None:
    with serve(SCRIPT) as server:
        gateway = talk("anthropic", server.url, groups=3)
        asked = {entry.key for entry in server.ledger.admitted()}
    assert len(asked) == 1
    assert gateway.costs.cached_share >= 0.85


def test_a_request_has_at_most_four_breakpoints_and_the_first_is_kept() -> None:
    text = "The repository. " * 300
    said = [Message(Speaker.USER, f"{text}The draft.", (len(text),))]
    for turn in range(8):
        said.append(Message(Speaker.ASSISTANT, "look"))
        said.append(Message(Speaker.USER, f"line {turn}", (6,)))

    async def run(url: str) -> Gateway:
        key = Key("anthropic", "sk-cache-1", "group", base_url=url)
        pool = Pool(Store(":memory:"), lambda: [key], lambda _: None)
        gateway = Gateway(MemoryJournal("run"), pool, price=lambda _: PRICE)
        first = replace(DRAFT, model="anthropic:m", messages=tuple(said))
        await gateway.answer(first)
        other = Message(Speaker.USER, f"{text}Another draft.", (len(text),))
        await gateway.answer(replace(first, messages=(other,)))
        await gateway.close()
        pool.close()
        return gateway

    with serve(SCRIPT) as server:
        gateway = asyncio.run(run(server.url))
        see_bill(gateway, server.ledger)
    # The second round read what it shares with the first.
    cached = sum(line.cached_tokens for line in gateway.costs.lines.values())
    assert cached == len(text) // 4
