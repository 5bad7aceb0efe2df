"""What every provider promises, held over all that are registered."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pytest

from agentos.documents.verdict import parse_verdict
from agentos.errors import FailureCause, ProviderError, UsageError
from agentos.gateway.providers import (
    Credential,
    Provider,
    Request,
    ask_once,
    create_provider,
    parse_model_spec,
)
from agentos.gateway.providers.records import BUILT_IN
from agentos.state.redaction import fingerprint
from agentos.workflows.prompts.rendering import load_template
from tests.support import BRIEF, ISSUE, NO_CLAUDE, fill_prompt, find_claudes, wait_until

DRAFT = Request(
    repository="r",
    workflow="lld",
    item="7",
    node="N1_design",
    round=1,
    attempt=1,
    purpose="lld.draft",
    model="",
    messages=ask_once(""),
    inputs={
        "item": "7",
        "template": load_template("agentos.workflows.drafting.lld", "lld"),
        "issue": ISSUE.format(number=7),
        "previous_draft": "",
        "findings": "",
    },
)
GOOD, WRONG = "sk-good-0000000001", "sk-wrong-000000001"
ENVIRONMENT = ("ANTHROPIC_", "AGENTOS_", "CLAUDE_", "GEMINI_", "GOOGLE_", "OPENAI_")
PATIENCE = 60.0

Result = TypeVar("Result")


@dataclass(frozen=True)
class Subject:
    """A provider that is held to its promises, and the server that stands for the world
    behind it.
    """

    name: str
    model: str
    server: Any = None

    @property
    def needs_server(self) -> bool:
        """Whether there is somebody to ask."""
        return self.server is not None

    def credential(self, secret: str = GOOD) -> Credential | None:
        """Return what the provider is asked with."""
        address = (
            f"{self.server.url}/v1"
            if self.name == "openai"
            else self.server.url
            if self.server
            else ""
        )
        return Credential(secret, address) if self.server else None

    def use(
        self, action: Callable[[Provider], Awaitable[Result]], options: str = ""
    ) -> Result:
        """Make the provider, do something with it and close it."""

        async def run() -> Result:
            provider = create_provider(
                parse_model_spec(f"{self.name}:{options or self.model}")
            )
            try:
                return await asyncio.wait_for(action(provider), PATIENCE)
            finally:
                await provider.close()

        return asyncio.run(run())


MODELS = {
    "anthropic": "claude-sonnet-5",
    "claude-cli": "sonnet",
    "gemini": "gemini-3.5-flash",
    "openai": "gpt-6-luna",
}
SDKS = {"anthropic": "anthropic", "gemini": "google.genai", "openai": "openai"}


CLAUDES = find_claudes()
SUBJECTS = [(name, "") for name in sorted(BUILT_IN) if name != "claude-cli"]
SUBJECTS += [("claude-cli", command) for command in CLAUDES or [""]]


@pytest.fixture(params=SUBJECTS, ids=lambda subject: subject[0])
def subject(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Subject]:
    """Each provider in its default form; those that ask a network ask the scenario
    server.
    """
    name, command = request.param
    for variable in list(os.environ):
        if variable.startswith(ENVIRONMENT) or variable.upper().endswith("_PROXY"):
            monkeypatch.delenv(variable)
    if name == "offline":
        yield Subject(name, "")
        return
    if name == "claude-cli":
        if not command:
            pytest.skip(NO_CLAUDE)
        monkeypatch.setenv("AGENTOS_CLAUDE_COMMAND", command)
    else:
        pytest.importorskip(SDKS[name])
    from tests.scenario import serve

    with serve({"key": [{"secret": GOOD}]}) as server:
        yield Subject(name, MODELS[name], server)


def ask_for(subject: Subject, purpose: str, schema: str = "", **inputs: str) -> Request:
    """Return the request that a workflow makes for a purpose."""
    workflow, _, role = purpose.partition(".")
    return replace(
        DRAFT,
        workflow=workflow,
        purpose=purpose,
        schema=schema,
        model=f"{subject.name}:{subject.model}",
        messages=ask_once(fill_prompt(workflow, role, **inputs)),
        inputs=inputs,
    )


@pytest.mark.slow
def test_a_draft_is_a_document_and_its_review_a_verdict(subject: Subject) -> None:
    async def ask(provider: Provider) -> None:
        drafting = ask_for(subject, "lld.draft", **DRAFT.inputs)
        draft = await provider.complete(drafting, subject.credential())
        assert draft.text.startswith("# ")
        assert draft.model
        reviewing = ask_for(
            subject,
            "lld.review",
            "verdict",
            item="7",
            issue=DRAFT.inputs["issue"],
            draft=draft.text.strip() + "\n",
        )
        review = await provider.complete(reviewing, subject.credential())
        # Rules approve nothing.
        expected = "APPROVED" if subject.needs_server else "REVISE"
        assert parse_verdict(review.text).decision == expected
        for usage in (draft.usage, review.usage) if subject.needs_server else ():
            assert usage.input_tokens > 0
            assert usage.output_tokens > 0

    subject.use(ask)
    if subject.needs_server:
        calls = subject.server.ledger.calls()
        assert [call.purpose for call in calls] == ["lld.draft", "lld.review"]
        assert {call.key.partition("-")[2] for call in calls} == {
            fingerprint("x", GOOD).partition("-")[2]
        }


def test_a_brief_becomes_an_issue(subject: Subject) -> None:
    asked = ask_for(
        subject,
        "issue.draft",
        item="7",
        template=load_template("agentos.workflows.drafting.issue", "issue"),
        brief=BRIEF.format(number=7),
        previous_draft="",
        findings="",
    )
    answer = subject.use(
        lambda provider: provider.complete(asked, subject.credential())
    )
    assert "## Acceptance Criteria" in answer.text


def test_cancellation_takes_effect_at_once_and_the_server_sees_it(
    subject: Subject,
) -> None:
    if subject.needs_server:
        subject.server.change(latency=60.0)

    async def cancel(provider: Provider) -> None:
        call = asyncio.create_task(
            provider.complete(
                ask_for(subject, "lld.draft", **DRAFT.inputs), subject.credential()
            )
        )
        while subject.needs_server and not subject.server.ledger.calls():
            assert not call.done(), call
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, 5)

    subject.use(cancel, options="" if subject.needs_server else "latency=60")
    if subject.needs_server:
        wait_until(
            lambda: bool(subject.server.ledger.calls()[0].has_left),
            "the server saw the caller leave",
        )


def test_the_cheapest_question_is_answered_in_a_few_words_and_costs_nothing(
    subject: Subject,
) -> None:
    answer = subject.use(lambda provider: provider.check(subject.credential()))
    assert 0 < len(answer) < 200
    assert answer.isprintable()
    assert GOOD not in answer
    if subject.needs_server:
        assert subject.server.ledger.calls() == []


def test_a_refused_key_is_an_auth_error_that_does_not_tell_the_key(
    subject: Subject,
) -> None:
    if not subject.needs_server:
        pytest.skip(f"{subject.name} takes no key")
    with pytest.raises(ProviderError) as caught:
        subject.use(
            lambda provider: provider.complete(
                ask_for(subject, "lld.draft", **DRAFT.inputs), subject.credential(WRONG)
            )
        )
    assert (caught.value.cause, caught.value.failure) == (FailureCause.AUTH, "auth")
    assert "sk-wrong" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_provider_can_be_closed_before_and_after_use(subject: Subject) -> None:
    async def close_twice(provider: Provider) -> str:
        await provider.close()
        answer = await provider.check(subject.credential())
        await provider.close()
        return answer

    assert subject.use(close_twice)


def test_a_provider_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"unknown provider 'nobody'.*offline"):
        parse_model_spec("nobody:x")
