"""What every journal promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agentos.gateway.journal import Journal, MemoryJournal, request_key
from agentos.providers import Completion
from tests.contracts.test_provider import DRAFT

ANSWER = Completion("text", "model")


@pytest.fixture(params=[MemoryJournal])
def journal(request: pytest.FixtureRequest) -> Journal:
    """Each implementation, empty."""
    make: Callable[[], Journal] = request.param
    return make()


def test_what_was_settled_is_returned_and_nothing_else(journal: Journal) -> None:
    key = request_key(DRAFT)
    assert journal.settled(key) is None
    journal.settle(key, ANSWER)
    assert journal.settled(key) == ANSWER
    for other in (
        replace(DRAFT, prompt="another question"),
        replace(DRAFT, model="another:model"),
        replace(DRAFT, round=2),
        replace(DRAFT, attempt=2),
        replace(DRAFT, item="8"),
        replace(DRAFT, repository="other"),
    ):
        assert journal.settled(request_key(other)) is None


def test_an_item_that_ended_is_forgotten_alone(journal: Journal) -> None:
    seven, seventy = request_key(DRAFT), request_key(replace(DRAFT, item="70"))
    journal.settle(seven, ANSWER)
    journal.settle(seventy, ANSWER)
    journal.forget_item("r", "lld", "7")
    assert journal.settled(seven) is None
    assert journal.settled(seventy) == ANSWER
