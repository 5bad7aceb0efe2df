"""Records cross processes as JSON, and nothing else is read as one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from agentos.item import Item, State
from agentos.kinds import Kind
from agentos.plain_data import from_data, to_data
from agentos.settings import RunConfig


@dataclass(frozen=True)
class Sample:
    """A record with everything that a record may have."""

    item: Item
    state: State
    config: RunConfig
    names: tuple[str, ...]
    other: Item | None = None


SAMPLE = Sample(
    Item(Kind.LLD, "42", "docs/issues/42.md"),
    State.APPROVED,
    RunConfig(max_rounds=7, price=("a:b=1/2",), timeout=1.5, scaffold_only=True),
    ("a", "b"),
)


def changed(**changes: Any) -> dict[str, Any]:
    """Return the sample's data with some fields changed."""
    data: dict[str, Any] = json.loads(json.dumps(to_data(SAMPLE)))
    return data | changes


def test_a_record_comes_back_as_it_was() -> None:
    back = from_data(Sample, changed())
    assert back == SAMPLE
    assert back.item.kind is Kind.LLD
    assert back.state is State.APPROVED
    assert back.config.price == ("a:b=1/2",)


def test_a_record_in_place_of_none_comes_back() -> None:
    item = {"kind": "issue", "id": "1", "source": "1.md"}
    back = from_data(Sample, changed(other=item))
    assert back.other == Item(Kind.ISSUE, "1", "1.md")


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        changed(surplus=1),
        changed(names="ab"),
        changed(names=[1]),
        changed(state="glad"),
        changed(item=None),
        changed(config={"max_rounds": 7}),
        changed(config=to_data(SAMPLE.config) | {"max_rounds": "7"}),
        changed(config=to_data(SAMPLE.config) | {"max_rounds": True}),
        changed(config=to_data(SAMPLE.config) | {"timeout": None}),
    ],
)
def test_anything_else_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"Sample|State|Item|RunConfig"):
        from_data(Sample, data)
