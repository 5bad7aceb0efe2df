"""Lines that run in the processes that tests start count as covered."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from tests.proving.runners.conftest import Repository

Make = Callable[[Mapping[str, str]], Repository]
TOOL = """
    import sys

    def shout(words):
        return " ".join(words).upper()

    def main():
        if "--fail" in sys.argv:
            raise SystemExit(3)
        print(shout(sys.argv[1:]))
        sys.stdout.flush()
        if "hang" in sys.argv:
            sys.stdin.read()
            print("never")

    if __name__ == "__main__":
        main()
"""
HEAD = """
    import os
    import subprocess
    import sys

    def run(*words, **more):
        command = [sys.executable, "-m", "tool", *words]
        return subprocess.run(command, capture_output=True, text=True, **more)

"""


def covered(make: Make, test: str, **more: str) -> tuple[int, ...]:
    """Return the lines of the tool that ran in a test."""
    made = make({"tool.py": TOOL, "test_it.py": HEAD + test, **more})
    run = made.run(coverage=["tool.py"])
    assert run.problem == ""
    assert [str(test.outcome) for test in run.tests] == ["passed"], run.tests[0].text
    return run.coverage["tool.py"].executed


def test_a_command_that_a_test_runs_counts(repository: Make) -> None:
    test = """
    def test_it():
        assert run("a", cwd="/").stdout == "A\\n"
        assert run("--fail").returncode == 3
    """
    assert covered(repository, test) == (1, 3, 4, 6, 7, 8, 9, 10, 11, 15, 16)


def test_a_killed_process_loses_only_what_it_did_not_run(repository: Make) -> None:
    test = """
    def test_it():
        command = [sys.executable, "-m", "tool", "hang"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe) as child:
            assert child.stdout.readline() == b"HANG\\n"
            child.stdout.read(0)
            child.kill()
    """
    lines = covered(repository, test)
    assert {3, 4, 6, 7, 9} <= set(lines)
    assert 13 not in lines


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_count(repository: Make, method: str) -> None:
    test = f"""
    import multiprocessing

    import tool

    def test_it():
        context = multiprocessing.get_context({method!r})
        with context.Pool(1) as pool:
            assert pool.map(tool.shout, [["a"]]) == ["A"]
    """
    assert 4 in covered(repository, test)


def test_grandchildren_count_and_children_see_the_path_that_they_would(
    repository: Make,
) -> None:
    test = """
    def test_it():
        code = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'tool'])"
        subprocess.run([sys.executable, "-c", code], check=True)
        code = "import sys, sitecustomize; print(sys.path, sitecustomize.OWN)"
        child = subprocess.run([sys.executable, "-c", code], capture_output=True)
        assert child.stdout.endswith(b"] 1\\n"), child.stderr
        assert b"/children'" not in child.stdout
        assert child.stderr == b""
    """
    lines = covered(repository, test, **{"sitecustomize.py": "OWN = 1\n"})
    assert 9 in lines


def test_lines_that_are_made_up_do_not_count(repository: Make) -> None:
    test = """
    def test_it():
        folder = os.environ["PYTHONPATH"].split(os.pathsep)[0]
        with open(os.path.join(folder, "lines"), "a") as file:
            file.write("0 99\\n0 14\\n7 1\\n-1 -1\\nwords\\n0 1 2\\n" + "9" * 5000 + " 1\\n")
            file.write("0")
        assert run("a").returncode == 0
    """
    lines = covered(repository, test)
    assert 99 not in lines
    assert 14 not in lines


def test_a_run_that_measures_nothing_leaves_the_processes_alone(
    repository: Make,
) -> None:
    test = """
    def test_it():
        code = "import sys; print(sys.gettrace())"
        child = subprocess.run([sys.executable, "-c", code], capture_output=True)
        assert child.stdout == b"None\\n"
    """
    made = repository({"test_it.py": HEAD + test})
    assert made.run().passed
