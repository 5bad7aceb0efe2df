"""The test writer is told which names are taken."""

from __future__ import annotations

from agentos.workflows.implementation.existing_tests import say_taken

FILE = """\
class TestStore:
    def test_010_an_older_item(self):
        assert True

    def test_090_of_another_scenario(self):
        assert True

def test_020_too():
    assert True

def test_store():
    assert True
"""


def test_names_of_the_same_scenarios_are_listed() -> None:
    assert say_taken("t.py", FILE, ["010", "020", "030"]) == (
        "t.py (already there, so these names are taken: TestStore::test_010_an_older_item,"
        " test_020_too)"
    )
    said = say_taken("t.py", FILE, ["010", "020"], most=1)
    assert said.endswith("test_010_an_older_item and 1 more)")
    assert say_taken("t.py", FILE, ["050"]) == "t.py"
    assert say_taken("t.py", None, ["010"]) == "t.py"
