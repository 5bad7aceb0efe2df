"""The providers themselves: costs a fraction of a cent, so it runs only when
AGENTOS_LIVE_TESTS=1 and a key is set.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from agentos.documents.verdict import parse_verdict
from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers import (
    Credential,
    Provider,
    Request,
    ask_once,
    create_provider,
    parse_model_spec,
)
from tests.support import ISSUE, fill_prompt, find_claudes

VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openai": "OPENAI_API_KEY",
}
MODELS = {
    "anthropic": "claude-haiku-4-5",
    "claude-cli": "haiku",
    "gemini": "gemini-2.5-flash",
    "openai": "gpt-5-mini",
}
"""Cheap ones; AGENTOS_LIVE_MODEL_OPENAI and its like name others."""
PATIENCE = 300.0

Result = TypeVar("Result")


@pytest.fixture(params=sorted(MODELS))
def live(request: pytest.FixtureRequest) -> tuple[str, Credential | None]:
    """A provider with its model, and what to ask it with."""
    name = request.param
    if os.environ.get("AGENTOS_LIVE_TESTS") != "1":
        pytest.skip("asks the real providers: set AGENTOS_LIVE_TESTS=1")
    model = (
        os.environ.get(f"AGENTOS_LIVE_MODEL_{name.upper().replace('-', '_')}")
        or MODELS[name]
    )
    if name == "claude-cli":
        if not find_claudes():
            pytest.skip("no claude command: npm install -g @anthropic-ai/claude-code")
        return f"{name}:{model}", None
    secret = os.environ.get(VARIABLES[name])
    if not secret:
        pytest.skip(f"{VARIABLES[name]} is not set")
    return f"{name}:{model}", Credential(secret)


def use(model: str, action: Callable[[Provider], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        provider = create_provider(parse_model_spec(model))
        try:
            return await asyncio.wait_for(action(provider), PATIENCE)
        finally:
            await provider.close()

    return asyncio.run(run())


def make_request(
    model: str, prompt: str, schema: str = "", max_output_tokens: int = 4_000
) -> Request:
    return Request(
        "r",
        "lld",
        "7",
        "N1",
        1,
        1,
        "lld.draft",
        model,
        ask_once(prompt),
        {},
        schema,
        max_output_tokens,
    )


def test_a_question_is_answered_and_counted(
    live: tuple[str, Credential | None],
) -> None:
    model, credential = live
    asked = make_request(model, "Answer with the single word: yes")
    answer = use(model, lambda provider: provider.complete(asked, credential))
    assert "yes" in answer.text.casefold()
    assert answer.usage.input_tokens > 0
    assert answer.usage.output_tokens > 0


def test_a_verdict_follows_the_schema(live: tuple[str, Credential | None]) -> None:
    model, credential = live
    draft = "# 7 - Export\n\nNothing is designed yet.\n"
    prompt = fill_prompt(
        "lld", "review", item="7", issue=ISSUE.format(number=7), draft=draft
    )
    asked = make_request(model, prompt, "verdict", 16_000)
    answer = use(model, lambda provider: provider.complete(asked, credential))
    assert parse_verdict(answer.text).decision != "APPROVED"


def test_the_key_can_be_checked(live: tuple[str, Credential | None]) -> None:
    model, credential = live
    assert use(model, lambda provider: provider.check(credential))


def test_a_wrong_key_is_refused(live: tuple[str, Credential | None]) -> None:
    model, credential = live
    if credential is None:
        pytest.skip("this one has no key of ours")
    wrong = Credential(credential.secret[:-6] + "AAAAAA")
    with pytest.raises(ProviderError) as caught:
        use(
            model,
            lambda provider: provider.complete(make_request(model, "Hello"), wrong),
        )
    assert caught.value.cause is FailureCause.AUTH


def test_a_model_that_does_not_exist_is_a_bad_request(
    live: tuple[str, Credential | None],
) -> None:
    model, credential = live
    unknown = f"{model.partition(':')[0]}:no-such-model-of-anybody"
    with pytest.raises(ProviderError) as caught:
        use(
            unknown,
            lambda provider: provider.complete(
                make_request(unknown, "Hello"), credential
            ),
        )
    assert caught.value.cause is FailureCause.BAD_REQUEST
