"""A model that obeys every sentence of the contract is understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from agentos.documents.changes import Contest, Kept, UnreachableLines
from agentos.documents.changes.contract import (
    CODE,
    ROLES,
    TESTS,
    Clause,
    answering,
    clauses,
)
from agentos.workflows.implementation.accepting import (
    AcceptedChanges,
    read_code,
    read_tests,
)
from agentos.workflows.implementation.blueprint import Blueprint, Change
from agentos.workflows.implementation.kept import PlannedAsKept
from agentos.workflows.prompts.rendering import load_prompt, render_prompt

CART_TESTS = """\
from shop.cart import Cart


def test_there_is_one():
    cart = Cart()
    cart.add(1)
    assert len(cart) == 1


LIMIT = 10
"""
CART = """\
LIMIT = 10


def total(prices):
    total = 0
    for price in prices:
        total += price
    return total
"""
TOTAL_TESTS = """\
from shop.total import total


def test_010_total_of_nothing():
    assert total([]) == 0
"""
TOTAL = "def total(prices):\n    return sum(prices)\n"
EXAMPLE = '\n\nEXAMPLE = """\n```\ntotal([])\n```\n"""\n'
ADDED = "\n\ndef test_010_cart_is_empty():\n    assert not Cart()\n"
FILES = {
    "shop/cart.py": CART,
    "tests/test_cart.py": CART_TESTS,
    "shop/old.py": "x = 1\n",
}
NEW = {CODE: "shop/total.py", TESTS: "tests/test_total.py"}
OLD = {CODE: "shop/cart.py", TESTS: "tests/test_cart.py"}
TEXT = {CODE: TOTAL, TESTS: TOTAL_TESTS}
EDITED = {
    CODE: CART.replace("return total", "return round(total, 2)"),
    TESTS: CART_TESTS.replace("== 1\n", f"== 1\n{ADDED}"),
}


@dataclass(frozen=True)
class Meant:
    """What becomes of the files, and what else an answer says."""

    files: Mapping[str, str] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    blocked: str = ""
    contested: tuple[Contest, ...] = ()
    kept: tuple[Kept, ...] = ()
    unreachable: tuple[UnreachableLines, ...] = ()


def meant(role: str) -> dict[str, Meant]:
    """Return what each clause with an example means."""
    new = {NEW[role]: TEXT[role]}
    raised = EDITED[role].replace("LIMIT = 10", "LIMIT = 20")
    both = {
        "whole file": Meant(new),
        "edit": Meant({OLD[role]: EDITED[role]}),
        "several edits": Meant({OLD[role]: raised}),
        "new file by an edit": Meant(new),
        "longer fence": Meant({NEW[role]: TEXT[role] + EXAMPLE}),
        "unnamed block": Meant(new),
    }
    if role == TESTS:
        reason = "the total of a full cart stays as it is"
        why = "only Windows lacks `fcntl`"
        unreached = (
            UnreachableLines("shop/lock.py", 12, 14, why),
            UnreachableLines("shop/lock.py", 20, 20, why),
        )
        return both | {
            "blocked": Meant(blocked="the design names no result for scenario 020"),
            "kept": Meant(kept=(Kept(("030", "040"), reason),)),
            "unreachable": Meant(unreachable=unreached),
        }
    money = {"shop/money.py": "CENT = 0.01\n"}
    wrong = Contest("test_020_empty_cart", "an empty cart costs 0, the test wants None")
    return both | {
        "deletion": Meant(deleted=("shop/old.py",)),
        "reason": Meant(money, extras={"shop/money.py": "two files round"}),
        "blocked": Meant(
            blocked="section 2.4 wants a `Cart` without a name, and `Order` needs it"
        ),
        "contest": Meant(contested=(wrong,)),
    }


class Shop:
    """The repository before the item."""

    def read(self, path: str) -> str | None:
        return FILES.get(path)

    read_base = read


def accept(role: str, answer: str, *, is_only: bool = False) -> AcceptedChanges:
    """Have an answer accepted for a design that declares a few files."""
    declared = {NEW[role]: Change.ADD}
    if not is_only:
        declared[OLD[role]] = Change.MODIFY
        declared["shop/old.py"] = Change.DELETE
    blueprint = Blueprint(
        title="Totals",
        declared=declared,
        scenarios=(),
        kept=PlannedAsKept({}),
        requirements={},
        covered_by={},
    )
    if role == TESTS:
        return read_tests(answer, blueprint, Shop())
    return read_code(answer, blueprint, Shop(), protected=("tests",))


EXAMPLES = [
    (role, clause) for role in ROLES for clause in clauses(role) if clause.example
]


@pytest.mark.parametrize(
    ("role", "clause"),
    EXAMPLES,
    ids=[f"{role}-{clause.name}" for role, clause in EXAMPLES],
)
def test_an_example_of_the_contract_is_understood(role: str, clause: Clause) -> None:
    for answer in (clause.example, f"Here it is.\n\n{clause.example}\nDone.\n"):
        taken = accept(role, answer, is_only=clause.name == "unnamed block")
        assert taken.slips == []
        said = Meant(
            taken.files,
            tuple(taken.deleted),
            taken.extras,
            taken.blocked,
            taken.contested,
            taken.kept,
            taken.unreachable,
        )
        assert said == meant(role)[clause.name]


@pytest.mark.parametrize("role", ROLES)
def test_every_meaning_is_in_the_contract(role: str) -> None:
    named = {clause.name for clause in clauses(role) if clause.example}
    assert named == set(meant(role))


@pytest.mark.parametrize("role", ROLES)
def test_what_is_shown_in_a_prompt_is_understood_together(role: str) -> None:
    taken = accept(role, answering(role).replace("blocked:", "blocks:"))
    assert taken.slips == []
    assert taken.files[NEW[role]] == TEXT[role]
    assert taken.files[OLD[role]] == EDITED[role]


@pytest.mark.parametrize("role", ROLES)
def test_the_prompt_of_a_role_has_the_contract(role: str) -> None:
    package = "agentos.workflows.implementation"
    inputs = dict.fromkeys(load_prompt(package, role).inputs, "x")
    inputs["answering"] = answering(role)
    assert answering(role) in render_prompt(package, role, inputs)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            "```python\n# Edit: shop/cart.py\n<<<<<<< SEARCH\ntotal += price\n=======\n"
            "total += 1\n>>>>>>> REPLACE\n```\n",
            "",
        ),
        (
            "```python\n# Edit: shop/cart.py\n<<<<<<< SEARCH\nreturn\n=======\n"
            "return 1\n>>>>>>> REPLACE\n```\n",
            "SEARCH is whole lines of the file",
        ),
        ('```python\n# File: shop/total.py\nX = """\n```\nx\n```\n"""\n```\n',
         "use a fence that is longer than any fence inside"),
        ("```python\n# File: shop/total.py\n# ... rest of the file ...\n```\n",
         "write out every line; `...` stands for nothing"),
        ("```python\n# File: shop/more.py\nX = 1\n```\n", "a line `Reason: ...` below"),
        ("Nothing to do.\n", "a line `# File: PATH` begins the block of a whole file"),
        ("blocked: no way\n\n# Delete: shop/old.py\n", "`blocked: REASON` and has changes"),
        ("contest: test_010_x\n", "write `contest: TEST_NAME: REASON`"),
    ],
)  # fmt: skip
def test_a_refusal_says_the_sentence_that_was_broken(answer: str, words: str) -> None:
    taken = accept(CODE, answer)
    assert bool(taken.slips) is bool(words), taken.slips
    assert any(words in slip for slip in taken.slips) or not words
