"""Under a skeleton every test that depends on the missing code is imported, and fails
for what is not written.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.proving.inspection import skeletons
from agentos.proving.inspection.skeletons import is_subject, module_name

FAILING = """\
import asyncio
import subprocess
import sys
import typing
from unittest import mock

import pytest
import shop
import shop.cart as module
from shop import export
from shop.cart import Cart, CartError, Kind, LIMIT, _private, load, total

class Fake(Cart):
    def total(self) -> typing.Optional[Kind]:
        return 1

class FakeError(CartError):
    pass

def annotated(kind: Kind, other: "Kind | None", cart: Cart | None, many: list[Kind]) -> Cart:
    return cart

NAMED = [Kind.A, Kind["B"], Cart.empty]

def test_call(): assert total([1]) == 1
def test_call_no_assert(): total([1])
def test_instance(): Cart()
def test_instance_with_words(): assert Cart(size=1).size == 1
def test_private(): assert _private(1) == 1
def test_attribute(): assert Cart.empty() == 1
def test_class_attribute_compared(): assert Kind.A == "a"
def test_class_attribute_differs(): assert Kind.A != "a"
def test_subclass(): assert Fake().total() == 1
def test_error_subclass(): raise FakeError("x")
def test_constant_equal(): assert LIMIT == 5
def test_constant_differs(): assert LIMIT != 5
def test_constant_less(): assert LIMIT < 5
def test_constant_truth(): assert LIMIT
def test_constant_false(): assert not LIMIT
def test_constant_none(): assert [LIMIT] != [5]
def test_constant_in(): assert LIMIT in (1, 2)
def test_constant_contains(): assert 1 in LIMIT
def test_constant_sum(): assert LIMIT + 1 > 0
def test_constant_sum_reversed(): assert 1 + LIMIT > 0
def test_iterated(): assert [x for x in LIMIT] == []
def test_class_iterated(): assert list(Kind) != [1]
def test_length(): assert len(LIMIT) >= 1
def test_context():
    with load("x") as found: assert found
def test_context_of_itself():
    with LIMIT: pass
def test_awaited(): asyncio.run(call_async())
async def call_async():
    assert await total([1]) == 1
def test_awaited_itself(): asyncio.run(wait_for_it())
async def wait_for_it(): await LIMIT
def test_async_context(): asyncio.run(enter_async())
async def enter_async():
    async with LIMIT: pass
def test_async_iterated(): asyncio.run(iterate_async())
async def iterate_async():
    async for x in LIMIT: pass
def test_formatted(): assert f"{LIMIT}" != ""
def test_formatted_class(): assert f"{Cart:10}"
def test_text(): assert str(LIMIT) != ""
def test_raises():
    with pytest.raises(CartError): total([-1])
def test_raises_with_message():
    with pytest.raises(CartError, match="negative"): Cart().add(-1)
def test_raises_value_error():
    with pytest.raises(ValueError): total([-1])
def test_raised_by_a_fake():
    def fake(): raise CartError("x")
    with pytest.raises(ValueError): fake()
def test_instance_check(): assert not isinstance(1, Cart)
def test_item(): assert Kind["A"] == 1
def test_item_of_constant(): assert LIMIT["a"] != 1
def test_module_attribute(): assert module.anything(1) == 1
def test_monkeypatched(monkeypatch):
    monkeypatch.setattr(module, "fetch", lambda: 1)
    assert module.run() == 1
def test_mock_patched():
    with mock.patch("shop.cart.fetch") as fetch:
        module.run()
    fetch.assert_called_once()
@pytest.mark.parametrize("kind", NAMED)
def test_parametrized(kind): assert kind.name == "a"
def test_new_name_of_an_existing_module(): assert export.write_csv([1]) == "1"
def test_new_name_by_import():
    from shop.export import write_csv
    assert write_csv([1]) == "1"
def test_new_name_of_the_package(): assert shop.version() == "1"
class TestClass:
    def setup_method(self): self.cart = Cart()
    def test_it(self): assert self.cart.total == 0
def test_command(): subprocess.run([sys.executable, "-m", "shop.cart"], check=True, stderr=subprocess.PIPE)
"""

OTHER_ERRORS = {"test_error_subclass", "test_raised_by_a_fake", "test_command"}
EXISTING = """\
from shop import old

def test_old_behaviour_stays(): assert old.double(2) == 4
def test_submodules_of_the_package_are_still_modules():
    from shop import inner
    assert inner.ANSWER == 42
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    base = {
        "shop/__init__.py": '"""A shop."""\n',
        "shop/old.py": "def double(x):\n    return 2 * x\n",
        "shop/inner.py": "ANSWER = 42\n",
        "shop/export.py": "def write_json(x):\n    return x",
    }
    declared = {
        "shop/cart.py": "Add",
        "shop/export.py": "Modify",
        "shop/old.py": "Modify",
        "shop/__init__.py": "Modify",
        "tests/test_cart.py": "Add",
        "shop/gone.py": "Delete",
        "README.md": "Modify",
    }
    made = skeletons(declared, base.get)
    assert set(made) == {
        "shop/cart.py",
        "shop/export.py",
        "shop/old.py",
        "shop/__init__.py",
    }
    for name, text in {**base, **made}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def run_tests(folder: Path, text: str) -> Mapping[str, str]:
    """Run a test file with pytest and return how each test ended, with its message."""
    import xml.etree.ElementTree as ElementTree

    (folder / "test_it.py").write_text(text, "utf-8")
    report = folder / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        f"--junitxml={report}",
    ]
    finished = subprocess.run(
        [*command, "test_it.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode in (0, 1), finished.stdout + finished.stderr
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        ending = next(iter(case), None)
        found[case.get("name", "")] = (
            "passed" if ending is None else f"{ending.tag}: {ending.get('message')}"
        )
    return found


@pytest.mark.slow
def test_every_test_of_what_is_not_written_fails_for_that(shop: Path) -> None:
    endings = run_tests(shop, FAILING)
    assert len(endings) == FAILING.count("def test_") + 2
    assert [name for name, ending in endings.items() if ending == "passed"] == []
    for name, ending in endings.items():
        assert name in OTHER_ERRORS or "not written yet: shop" in ending, (
            f"{name}: {ending}"
        )


@pytest.mark.slow
def test_what_is_written_already_goes_on_working(shop: Path) -> None:
    assert set(run_tests(shop, EXISTING).values()) == {"passed"}


@pytest.mark.slow
def test_a_test_that_passes_under_the_skeleton_is_vacuous(shop: Path) -> None:
    vacuous = "from shop.cart import total\ndef test_x():\n    assert callable(total)\n"
    vacuous += "def test_y():\n    assert total is total\n"
    assert set(run_tests(shop, vacuous).values()) == {"passed"}


def test_a_module_with_its_own_getattr_is_left_as_it_is() -> None:
    assert (
        skeletons(
            {"a.py": "Modify"}, lambda path: "def __getattr__(name):\n    return 1\n"
        )
        == {}
    )
    assert skeletons({"a.py": "Modify"}, lambda path: "def broken(:\n") == {}


def test_the_text_of_an_existing_module_stays_at_its_top() -> None:
    text = "from __future__ import annotations\nx = 1"
    assert skeletons({"a.py": "modify"}, lambda path: text)["a.py"].startswith(
        text + "\n"
    )


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "a/tests/helper.py",
        "test_a.py",
        "a_test.py",
        "conftest.py",
        "a.txt",
        "",
    ],
)
def test_only_code_under_test_gets_a_skeleton(path: str) -> None:
    assert not is_subject(path)


def test_modules_are_named_as_they_are_imported() -> None:
    assert module_name("src/shop/cart.py") == "shop.cart"
    assert module_name("shop/__init__.py") == "shop"
    assert module_name("tool.py") == "tool"
