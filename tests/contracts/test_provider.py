"""What every provider promises, held over all that are registered."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentos.documents.verdict import parse_verdict
from agentos.errors import UsageError
from agentos.providers import PROVIDERS, Provider, Request, create_provider, parse_model_spec
from tests.support import BRIEF, ISSUE

DRAFT = Request(
    repository="r",
    workflow="lld",
    item="7",
    node="N1_design",
    round=1,
    attempt=1,
    purpose="lld.draft",
    model="",
    prompt="",
    inputs={"item": "7", "issue": ISSUE.format(number=7), "previous_draft": "", "findings": ""},
)


@pytest.fixture(params=sorted(PROVIDERS))
def provider(request: pytest.FixtureRequest) -> Provider:
    """Each provider in its default form."""
    return create_provider(parse_model_spec(request.param))


def test_a_draft_is_a_document_and_its_review_a_verdict(provider: Provider) -> None:
    draft = asyncio.run(provider.complete(DRAFT, None))
    assert draft.text.startswith("# ")
    assert draft.model
    review = replace(
        DRAFT,
        node="N3_review",
        purpose="lld.review",
        schema="verdict",
        inputs={"item": "7", "issue": DRAFT.inputs["issue"], "draft": draft.text},
    )
    parse_verdict(asyncio.run(provider.complete(review, None)).text)


def test_a_brief_becomes_an_issue(provider: Provider) -> None:
    asked = replace(
        DRAFT,
        workflow="issue",
        purpose="issue.draft",
        inputs={"item": "7", "brief": BRIEF.format(number=7), "previous_draft": "", "findings": ""},
    )
    assert "## Acceptance Criteria" in asyncio.run(provider.complete(asked, None)).text


def test_cancellation_takes_effect_at_once() -> None:
    slow = create_provider(parse_model_spec("offline:latency=60"))

    async def cancel() -> None:
        call = asyncio.create_task(slow.complete(DRAFT, None))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(asyncio.wait_for(cancel(), 5))


def test_a_provider_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"unknown provider 'nobody'.*offline"):
        parse_model_spec("nobody:x")
