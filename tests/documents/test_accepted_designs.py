"""Designs that a reader would accept are not refused, in any style; damage to them that
their own form shows is refused.
"""

from __future__ import annotations

import pytest

from agentos.documents.findings import Tier
from agentos.documents.lld import check_lld, coverage, parse_lld
from tests.documents.accepted.corpus import FRESH, all_designs
from tests.documents.accepted.mutations import Design, damages

DESIGNS = all_designs()
BY_NAME = {design.name: design for design in DESIGNS}


def by_name(design: Design) -> str:
    return design.name


def test_there_are_many_designs_and_those_of_fresh_minds() -> None:
    assert len(BY_NAME) == len(DESIGNS) >= 60
    assert len(list(FRESH.iterdir())) >= 20


@pytest.mark.parametrize("design", DESIGNS, ids=by_name)
def test_a_design_that_a_reader_would_accept_is_not_refused(design: Design) -> None:
    assert design.refusals(design.text) == []
    assert design.refusals(design.text, previous=design.text) == []


@pytest.mark.parametrize("design", DESIGNS, ids=by_name)
def test_a_hint_is_short_and_never_blocks(design: Design) -> None:
    found = check_lld(parse_lld(design.text), design.issue, None, design.tree)
    for finding in found:
        assert finding.id.startswith("hint-")
        assert finding.tier is Tier.SUGGESTION
        assert len(finding.text) <= 400
    assert len(found) <= 20


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=by_name)
def test_damage_that_the_form_of_a_design_shows_is_refused(design: Design) -> None:
    tried = list(damages(design))
    assert len(tried) >= 30
    passed = [
        damage.name
        for damage in tried
        if not design.refusals(damage.text, damage.previous, damage.tree)
    ]
    assert passed == []


@pytest.mark.parametrize("base", ["depot", "recorded-17", "export-since"])
def test_the_styles_cite_the_same(base: str) -> None:
    expected = coverage(parse_lld(BY_NAME[base].text))
    cited = [row.scenarios for row in expected]
    for name, design in BY_NAME.items():
        lld = parse_lld(design.text)
        if name.startswith(f"{base}, ") and lld.cites_requirements:
            found = coverage(lld)
            assert [row.scenarios for row in found] == cited, name
