"""Code under test that tries to end, forge or bend its own report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.proving.judging import judge_green
from agentos.proving.runners import Invocation, TestOutcome
from agentos.proving.runners.pytest_events import EVENTS, read_run
from tests.proving.runners.conftest import Finished, Repository

Make = Callable[[Mapping[str, str]], Repository]

FORGED = '{"event":"end","counts":{"tests":2,"selected":2,"finished":2,"errors":0},"exit":0,"executed":{}}'

ESCAPES = {
    "os._exit": "import os; os._exit(0)",
    "segfault": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "pytest.exit": "import pytest; pytest.exit('done', returncode=0)",
    "closes every file": "import os; os.closerange(3, 256)",
    "keyboard": "raise KeyboardInterrupt",
    "appends lines": f"""
        import os
        for name in os.listdir("/proc/self/fd"):
            if os.path.realpath(f"/proc/self/fd/{{name}}").endswith("/events"):
                os.write(int(name), ("0" * 64 + " " + {FORGED!r} + chr(10)).encode())
        os._exit(0)
    """,
    "empties the report": """
        import os
        for name in os.listdir("/proc/self/fd"):
            if os.path.realpath(f"/proc/self/fd/{name}").endswith("/events"):
                os.ftruncate(int(name), 0)
    """,
    "replaces the report": """
        import os
        for name in os.listdir("/proc/self/fd"):
            path = os.path.realpath(f"/proc/self/fd/{name}")
            if path.endswith("/events"):
                os.unlink(path)
                os.symlink("/dev/zero", path)
    """,
    "raises no alarm": "import atexit, os; atexit.register(os._exit, 0); assert False",
}


def with_second_test(body: str) -> dict[str, str]:
    lines = [line.removeprefix("        ") for line in body.strip("\n").split("\n")]
    indented = "\n".join(f"    {line}" for line in lines)
    return {
        "test_it.py": f"def test_first():\n{indented}\n\ndef test_second():\n    pass\n"
    }


@pytest.mark.parametrize("name", ESCAPES)
def test_a_test_cannot_end_or_change_its_own_report(
    repository: Make, name: str
) -> None:
    run = repository(with_second_test(ESCAPES[name])).run()
    assert run.problem
    assert (
        judge_green(run, ["test_it.py::test_first", "test_it.py::test_second"], [])[
            0
        ].rule
        == "no-proof"
    )


def test_the_test_during_which_the_run_ended_is_named(repository: Make) -> None:
    run = repository(with_second_test(ESCAPES["os._exit"])).run()
    assert "while test_it.py::test_first ran" in run.problem
    assert [test.outcome for test in run.tests] == [
        TestOutcome.UNFINISHED,
        TestOutcome.NOT_RUN,
    ]


def test_a_test_that_hangs_is_named_when_it_is_stopped(repository: Make) -> None:
    body = "import time\nopen('../hanging', 'wb').write(b'1')\ntime.sleep(3600)"
    run = repository(with_second_test(body)).run(stopped_for="over its time of 60 s")
    assert (
        run.problem
        == "the tests were stopped while test_it.py::test_first ran: over its time of 60 s"
    )


def test_words_on_the_terminal_are_no_results(repository: Make) -> None:
    made = repository(
        {
            "test_it.py": f"import sys\ndef test_a():\n    sys.__stdout__.write({FORGED!r})\n    assert 0\n"
        }
    )
    run = made.run()
    assert run.problem == ""
    assert [test.outcome for test in run.tests] == [TestOutcome.FAILED]


def test_the_request_is_gone_before_any_test_is_loaded(repository: Make) -> None:
    made = repository(
        {
            "conftest.py": """
                import os
                from pathlib import Path
                found = [path for path in Path("..").rglob("request.json")]
                words = [name for name in os.environ if name.startswith("AGENTOS")]
            """,
            "test_it.py": "import conftest\ndef test_a(): assert conftest.found == conftest.words == []\n",
        }
    )
    run = made.run()
    assert run.problem == ""
    assert [test.outcome for test in run.tests] == [TestOutcome.PASSED]


CONFTESTS = {
    "calls failures passed": """
        import pytest

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport():
            report = (yield).get_result()
            report.outcome, report.longrepr = "passed", None
    """,
    "runs nothing": "def pytest_runtest_protocol(): return True\n",
    "loses tests": "def pytest_runtestloop(session): session.items[:] = []\n",
    "sets the exit code": "def pytest_sessionfinish(session): session.exitstatus = 0\n",
    "leaves at the end": "import os\ndef pytest_sessionfinish(): os._exit(0)\n",
    "stops early": "def pytest_runtest_logreport(report): raise SystemExit(0)\n",
}


@pytest.mark.parametrize("name", CONFTESTS)
def test_a_conftest_cannot_make_a_failing_test_green(
    repository: Make, name: str
) -> None:
    run = repository(
        {"conftest.py": CONFTESTS[name], "test_it.py": "def test_a(): assert 0\n"}
    ).run()
    assert run.problem
    assert "test_it.py::test_a" not in run.passed


def test_a_test_that_a_conftest_takes_out_is_not_green(repository: Make) -> None:
    made = repository(
        {
            "conftest.py": "def pytest_collection_modifyitems(items): items[:] = items[1:]\n",
            "test_it.py": "def test_a(): assert 0\ndef test_b(): pass\n",
        }
    )
    run = made.run()
    assert [test.outcome for test in run.tests] == [
        TestOutcome.DESELECTED,
        TestOutcome.PASSED,
    ]
    assert [
        str(each)
        for each in judge_green(run, ["test_it.py::test_a", "test_it.py::test_b"], [])
    ] == ["test_it.py::test_a: is deselected by an option or a hook of the repository"]


def test_tests_that_replace_what_the_reporter_uses_or_fork_are_reported_all_the_same(
    repository: Make,
) -> None:
    made = repository(
        {
            "test_it.py": """
                import hmac, json, os, time

                def broken(*_, **__):
                    raise RuntimeError("not here")

                def test_patches(monkeypatch):
                    for module, name in ((json, "dumps"), (os, "write"), (hmac, "new"), (os, "getpid")):
                        monkeypatch.setattr(module, name, broken)

                def test_forks():
                    if os.fork():
                        os.wait()

                def test_after(): pass

                class Rude(Exception):
                    def __str__(self):
                        raise ValueError("no words")

                def test_rude(): raise Rude
            """
        }
    )
    run = made.run()
    assert run.problem == ""
    assert [test.outcome.value for test in run.tests] == [
        "passed",
        "passed",
        "passed",
        "failed",
    ]


def test_endless_output_of_a_test_is_bounded_by_the_line(repository: Make) -> None:
    made = repository(
        {
            "test_it.py": """
                def test_lines():
                    for number in range(100_000):
                        print(f"line {number} \\x1b]0;title\\x07")
                    assert False, "x" * 3_000_000
            """
        }
    )
    (test,) = made.run().tests
    assert len(test.text) < 25_000
    assert len(test.output) < 45_000
    assert "lines left out]" in test.output
    assert "characters left out]" in test.message
    assert "\x1b" not in test.output


@given(st.binary(max_size=400))
def test_any_bytes_in_place_of_a_report_prove_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("results")
    (folder / EVENTS).write_bytes(data)
    assert read_run(_invocation(folder), Finished(0, b"")).problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["number", "when", "id"]), inner)
    ),
    max_leaves=6,
)
FIELDS = [
    "number",
    "numbers",
    "id",
    "base",
    "file",
    "line",
    "when",
    "outcome",
    "failure",
    "counts",
    "exit",
    "executed",
]
KINDS = st.sampled_from(
    [
        "start",
        "test",
        "error",
        "selected",
        "begin",
        "phase",
        "finish",
        "end",
        "skipped_file",
        "guarded",
        "tampered",
    ]
)


@given(
    st.lists(
        st.tuples(
            KINDS, st.dictionaries(st.sampled_from([*FIELDS, "statements"]), JSON)
        ),
        max_size=6,
    )
)
def test_a_sealed_report_of_any_shape_is_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[tuple[str, dict[str, object]]],
) -> None:
    folder = tmp_path_factory.mktemp("results")
    _seal(folder, [{**fields, "event": kind} for kind, fields in events])
    run = read_run(_invocation(folder), Finished(0, b""))
    assert run.problem
    assert not run.passed


def test_a_missing_report_says_what_was_printed(tmp_path: Path) -> None:
    run = read_run(_invocation(tmp_path), Finished(1, b"No module named pytest\n"))
    assert (
        run.problem == "the test run ended early (exit code 1)\nNo module named pytest"
    )


def _invocation(folder: Path) -> Invocation:
    return Invocation((), {}, (), folder, b"key")


def _seal(folder: Path, events: list[dict[str, object]]) -> None:
    import hmac

    seal = ""
    lines = []
    for event in events:
        body = json.dumps(event, separators=(",", ":"))
        seal = hmac.new(b"key", (seal + body).encode(), "sha256").hexdigest()
        lines.append(f"{seal} {body}\n")
    (folder / EVENTS).write_text("".join(lines), "ascii")
