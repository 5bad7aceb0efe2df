"""Real runs of real small repositories, honest ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from agentos.errors import BadInput
from agentos.proving.runners import RunRequest, TestOutcome, TestRun, find_runner
from agentos.proving.runners.pytest_runner import PytestRunner, find_configuration
from agentos.proving.skipping import describe_skipped
from tests.proving.runners.conftest import Repository

Make = Callable[[Mapping[str, str]], Repository]

EVERY_END = {
    "pkg/__init__.py": "",
    "pkg/shapes.py": "def area(x):\n    return x * x\n",
    "tests/test_ends.py": """
        import unittest
        import pytest
        from pkg.shapes import area

        @pytest.mark.parametrize("side", [2, "a::[b]", "\\x1b[31m\\n"])
        def test_many(side):
            if side == 2:
                print("printed words")
                assert area(side) == 5

        @pytest.mark.skip
        def test_skipped(): pass

        @pytest.mark.xfail
        def test_expected_to_fail(): assert area(1) == 2

        @pytest.mark.xfail
        def test_expected_to_fail_that_passes(): pass

        def test_unknown_fixture(nothing_of_this_name): pass

        @pytest.fixture
        def falls_apart():
            yield
            raise RuntimeError("cannot be cleaned up")

        def test_teardown(falls_apart): pass

        def test_exits():
            raise SystemExit(0)

        def test_steps(subtests):
            for step in range(3):
                with subtests.test(step=step):
                    assert step != 1

        class TestOld(unittest.TestCase):
            def test_old_style(self):
                self.assertEqual(area(2), 4)

            @unittest.skip("no")
            def test_old_skip(self): pass
    """,
    "tests/test_planned.py": "from pkg.circles import area\n\ndef test_circle(): assert area(1)\n",
    "tests/test_typo.py": "def test_typo(:\n",
}


def outcomes(run: TestRun) -> dict[str, str]:
    return {test.id.partition("::")[2]: test.outcome.value for test in run.tests}


def test_every_kind_of_end_is_told_apart(repository: Make) -> None:
    run = repository(EVERY_END).run()
    assert run.problem == ""
    assert outcomes(run) == {
        "test_many[2]": "failed",
        "test_many[a::[b]]": "passed",
        "test_many[\\x1b[31m\\n]": "passed",
        "test_skipped": "skipped",
        "test_expected_to_fail": "xfailed",
        "test_expected_to_fail_that_passes": "xpassed",
        "test_unknown_fixture": "error",
        "test_teardown": "error",
        "test_exits": "failed",
        "test_steps": "failed",
        "TestOld::test_old_style": "passed",
        "TestOld::test_old_skip": "skipped",
    }
    failed = {test.id: test for test in run.tests}["tests/test_ends.py::test_many[2]"]
    assert failed.base == "tests/test_ends.py::test_many"
    assert (failed.exception, failed.path, failed.file) == (
        "AssertionError",
        "tests/test_ends.py",
        "tests/test_ends.py",
    )
    assert failed.message.startswith("assert 4 == 5")
    assert "printed words" in failed.output
    assert [
        (error.path, error.exception, error.module) for error in run.collection_errors
    ] == [
        ("tests/test_planned.py", "ModuleNotFoundError", "pkg.circles"),
        ("tests/test_typo.py", "SyntaxError", ""),
    ]
    assert TestRun.from_data(json.loads(json.dumps(run.as_data()))) == run


@pytest.mark.slow
def test_a_repository_keeps_its_configuration_but_not_what_would_hide_results(
    repository: Make,
) -> None:
    made = repository(
        {
            "pyproject.toml": """
                [tool.pytest.ini_options]
                addopts = "-x -n 2 --lf -m 'not slow' --strict-markers --junitxml=out.xml -W error -p own_plugin"
                testpaths = ["checks"]
                python_files = "check_*.py"
                pythonpath = "."
                markers = ["slow"]
                filterwarnings = ["error"]
            """,
            "own_plugin.py": "import pytest\n\n@pytest.fixture\ndef own(): return 1\n",
            "src/pkg/__init__.py": "VALUE = 1\n",
            "checks/check_it.py": """
                import os, warnings
                import pytest
                from pkg import VALUE

                def test_a(): assert VALUE == 2
                def test_b(own): assert own == 1
                def test_c(): warnings.warn("old")
                @pytest.mark.slow
                def test_slow(): pass
                def test_alone(): assert "PYTEST_XDIST_WORKER" not in os.environ
            """,
        }
    )
    run = made.run(has_plugins=True)
    assert run.problem == ""
    assert outcomes(run) == {
        "test_a": "failed",
        "test_b": "passed",
        "test_c": "failed",
        "test_slow": "deselected",
        "test_alone": "passed",
    }
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "checks",
        "own_plugin.py",
        "pyproject.toml",
        "src",
    ]
    assert not list(made.folder.rglob("__pycache__"))


def test_a_long_assertion_is_told_whole(repository: Make) -> None:
    made = repository(
        {
            "test_long.py": "def test_long():\n    assert list(range(60)) == list(range(59)) + [0]\n"
        }
    )
    (test,) = made.run().tests
    assert "Full diff" in test.text
    assert "-     0," in test.text


def test_no_tests_is_a_valid_run_without_tests(repository: Make) -> None:
    run = repository({"tests/test_none.py": "VALUE = 1\n"}).run()
    assert (run.problem, run.tests) == ("", ())


def test_a_selection_that_is_not_there_proves_nothing(repository: Make) -> None:
    run = repository({"test_one.py": "def test_one(): pass\n"}).run("test_two.py")
    assert "test_two.py" in run.problem


def test_a_conftest_that_imports_what_is_planned_is_a_collection_error(
    repository: Make,
) -> None:
    made = repository(
        {
            "tests/conftest.py": "import planned\n",
            "tests/test_one.py": "def test_one(): pass\n",
        }
    )
    run = made.run("tests/test_one.py")
    assert run.problem == ""
    assert [(error.path, error.module) for error in run.collection_errors] == [
        ("tests/conftest.py", "planned")
    ]


def test_a_skipped_file_is_named(repository: Make) -> None:
    made = repository(
        {
            "test_one.py": "import pytest\npytest.skip('no', allow_module_level=True)\ndef test_a(): pass\n"
        }
    )
    run = made.run()
    assert run.skipped_files == ("test_one.py",)
    assert run.file_reasons["test_one.py"] == "no"


def test_doctests_are_tests_where_the_repository_says_so(repository: Make) -> None:
    made = repository(
        {
            "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
            "shapes.py": '"""\n>>> 1 + 1\n3\n"""\n',
        },
    )
    (test,) = made.run().tests
    assert (test.id, test.outcome) == ("shapes.py::shapes", TestOutcome.FAILED)


def test_only_declared_files_are_measured_and_no_comment_takes_a_line_out(
    repository: Make,
) -> None:
    made = repository(
        {
            "pkg/__init__.py": "",
            "pkg/declared.py": '''
                """Words."""
                import functools


                def choose(value):
                    """Words."""
                    if value:
                        return dict(
                            value=value,
                        )
                    return None  # pragma: no cover


                @functools.cache
                def never():  # pragma: no cover
                    try:
                        return 1
                    except ValueError:
                        return 2
            ''',
            "pkg/unused.py": "VALUE = 1\nOTHER = 2\n",
            "pkg/broken.py": "def (:\n",
            ".coveragerc": "[run]\nomit = *\n",
            "test_it.py": """
                import threading
                from pkg.declared import choose

                def test_it():
                    thread = threading.Thread(target=choose, args=(1,))
                    thread.start()
                    thread.join()
            """,
        }
    )
    run = made.run(
        coverage=[
            "pkg/declared.py",
            "pkg/unused.py",
            "pkg/broken.py",
            "pkg/gone.py",
            "README.md",
        ]
    )
    declared = run.coverage["pkg/declared.py"]
    assert declared.executed == (2, 5, 7, 8, 15)
    assert declared.missing == (11, 16, 17, 18, 19)
    assert run.coverage["pkg/unused.py"].missing == (1, 2)
    assert "SyntaxError" in run.coverage["pkg/broken.py"].problem
    assert "No such file" in run.coverage["pkg/gone.py"].problem
    assert sorted(run.coverage) == [
        "pkg/broken.py",
        "pkg/declared.py",
        "pkg/gone.py",
        "pkg/unused.py",
    ]


def test_names_for_type_checkers_are_not_counted_and_behaviour_under_their_name_is(
    repository: Make,
) -> None:
    made = repository(
        {
            "shapes.py": """
                import typing
                TYPE_CHECKING = False
                if TYPE_CHECKING:
                    from collections.abc import Sequence
                    Sizes: typing.TypeAlias = Sequence[int]
                if typing.TYPE_CHECKING:
                    import decimal
                if TYPE_CHECKING:
                    def area():
                        return 1
            """,
            "test_it.py": "import shapes\ndef test_it(): assert shapes\n",
        }
    )
    shapes = made.run(coverage=["shapes.py"]).coverage["shapes.py"]
    assert (shapes.executed, shapes.missing) == ((1, 2, 3, 6, 8), (9, 10))


def test_a_test_with_a_trace_function_of_its_own_costs_no_later_coverage(
    repository: Make,
) -> None:
    made = repository(
        {
            "shapes.py": "def area():\n    return 1\n",
            "test_it.py": "import sys, shapes\ndef test_a(): sys.settrace(None)\ndef test_b(): shapes.area()\n",
        }
    )
    assert made.run(coverage=["shapes.py"]).coverage["shapes.py"].missing == ()


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (
            {
                "pytest.ini": "[pytest]\n",
                "pyproject.toml": "[tool.pytest.ini_options]\n",
            },
            "pytest.ini",
        ),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\n", "tox.ini": "[pytest]\n"},
            "pyproject.toml",
        ),
        (
            {"pyproject.toml": "[project]\n", "setup.cfg": "[tool:pytest]\n"},
            "setup.cfg",
        ),
        (
            {"pyproject.toml": "not toml [", "tests/pytest.ini": "[pytest]\n"},
            "tests/pytest.ini",
        ),
        ({"tox.ini": "[tox]\n"}, None),
    ],
)
def test_the_configuration_is_the_one_that_pytest_would_choose(
    repository: Make, files: dict[str, str], name: str | None
) -> None:
    made = repository(files)
    assert find_configuration(made.folder) == (made.folder / name if name else None)


def test_a_configuration_above_the_repository_is_not_read(repository: Make) -> None:
    made = repository({"test_one.py": "def test_one(): pass\n"})
    (made.folder.parent / "pytest.ini").write_text(
        "[pytest]\naddopts = --no-such-option\n", "utf-8"
    )
    assert made.run().problem == ""


def test_the_runner_is_found_by_the_tests_that_are_there(
    repository: Make, tmp_path: Path
) -> None:
    made = repository({"tests/test_one.py": "", "elsewhere/readme.txt": ""})
    assert find_runner(made.folder).name == "pytest"
    with pytest.raises(BadInput, match="no tests of a known kind"):
        find_runner(made.folder / "elsewhere")


@pytest.mark.parametrize("name", ["", "--collect-only", "-x", "a\0b"])
def test_a_selection_is_never_an_option(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        PytestRunner().prepare(
            RunRequest(tmp_path, "python", tmp_path / "results", (name,))
        )


def test_skipped_tests_are_described_by_their_reasons(repository: Make) -> None:
    made = repository(
        {
            "test_one.py": """\
import unittest

import pytest

class TestOld(unittest.TestCase):
    def test_a(self):
        self.skipTest("pytz unavailable")

    @unittest.skip("pytz unavailable")
    def test_b(self): pass

@pytest.mark.skip(reason="pytz unavailable")
def test_c(): pass
""",
            "test_two.py": "import pytest\npytest.importorskip('no_such_zones')\n",
        }
    )
    of_tests, of_files = describe_skipped(made.run())
    assert of_tests == "3 tests skipped: pytz unavailable"
    assert of_files.startswith("1 whole file skipped: could not import 'no_such_zones'")
