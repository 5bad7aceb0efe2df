"""One turn of a loop is split at its command, whatever its text holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.changes import parse_changes
from agentos.documents.changes.contract import CODE, ROLES, answering, turn_clauses
from agentos.documents.changes.turns import read_turn, read_undeclared

FENCE = "```"


def bash(command: str, fence: str = FENCE) -> str:
    """Return a block with a command."""
    return f"{fence}bash\n{command}\n{fence}\n"


def test_edits_stand_above_and_below_the_command() -> None:
    first = f"{FENCE}python\n# File: a.py\nx = 1\n{FENCE}\n"
    second = first.replace("a.py", "b.py")
    turn = read_turn(f"I try.\n\n{first}\n{bash('pytest -q')}\n{second}")
    assert turn.command == "pytest -q"
    assert [one.path for one in parse_changes(turn.before).changes] == ["a.py"]
    assert [one.path for one in parse_changes(turn.after).changes] == ["b.py"]
    assert not turn.problems


@pytest.mark.parametrize(
    "command",
    [
        "cat > a.md <<'EOF'\n```python\nx\n```\nEOF\nls",
        "cat > a.md <<EOF\n```\nEOF\nls",
        "python - <<-\"E O\"\n\tprint('```')\n```\n\tE O\ntrue",
        "cat <<A <<B\n```\nA\n```\nB",
    ],
)
def test_a_fence_in_a_here_document_does_not_end_the_command(command: str) -> None:
    assert read_turn(bash(command)).command == command


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (f"{FENCE}bash\nls\n", "the end of the command is missing"),
        (bash("cat > a.md <<'EOF'\nx"), "each of its here-documents"),
        (bash("python -c '\n```\n'"), "could end at two places"),
        (bash("true " * 30_000), "characters; write files with blocks"),
    ],
)
def test_a_command_whose_end_is_in_doubt_is_not_run(answer: str, said: str) -> None:
    turn = read_turn(answer)
    assert turn.command == ""
    (problem,) = turn.problems
    assert said in problem.text


def test_a_second_command_and_all_below_it_are_left_out() -> None:
    edit = f"{FENCE}python\n# File: b.py\nx = 1\n{FENCE}\n"
    turn = read_turn(f"{bash('ls')}\n{bash('rm -r x')}\n{edit}")
    assert turn.command == "ls"
    assert parse_changes(turn.after).changes == ()
    assert "one command at most" in turn.problems[0].text


def test_a_command_in_a_document_is_text() -> None:
    readme = f"````markdown\n# File: README.md\n{bash('rm -rf /')}````\n\ndone\n"
    turn = read_turn(readme)
    assert turn.command == ""
    assert turn.is_done
    script = f"{FENCE}bash\n# File: run.sh\nls\n{FENCE}\n"
    assert read_turn(script).command == ""


def test_a_path_above_a_command_does_not_make_it_a_file() -> None:
    turn = read_turn(f"**tests/test_cart.py**\n\n{bash('cat tests/test_cart.py')}")
    assert turn.command == "cat tests/test_cart.py"


@pytest.mark.parametrize("word", ["done", "Done.", "**done**", "`done`"])
def test_done_is_a_line_of_its_own(word: str) -> None:
    assert read_turn(f"All tests pass.\n\n{word}\n").is_done
    assert not read_turn(f"I am {word} with the first part.\n").is_done
    assert not read_turn(f"{FENCE}text\n# File: a.txt\n{word}\n{FENCE}\n").is_done


def test_done_may_stand_beside_a_command() -> None:
    turn = read_turn(f"{bash('run-tests')}\ndone\n")
    assert (turn.command, turn.is_done) == ("run-tests", True)


def test_reasons_for_files_are_read() -> None:
    text = "undeclared: shop/money.py: two files round\n- `undeclared: b.txt`: read\n"
    assert read_undeclared(text) == {
        "shop/money.py": "two files round",
        "b.txt": "read",
    }


@pytest.mark.parametrize("role", ROLES)
def test_a_model_that_obeys_every_sentence_is_understood(role: str) -> None:
    told = answering(role, in_turns=True)
    for clause in turn_clauses(role):
        assert clause.text in told
        turn = read_turn(clause.example)
        assert not turn.problems
        changes = parse_changes(turn.before)
        assert not changes.problems, clause.name
        understood = {
            "command": turn.command == "run-tests",
            "done": turn.is_done,
            "blocked": bool(changes.blocked),
            "contest": bool(changes.contested),
            "kept": bool(changes.kept),
            "unreachable": bool(changes.unreachable),
            "undeclared": bool(read_undeclared(clause.example)),
        }
        expected = bool(changes.changes) or not clause.example
        assert understood.get(clause.name, expected), clause.name
    assert role == CODE or "undeclared" not in told


@given(
    st.lists(
        st.sampled_from(
            [
                "```bash",
                "```",
                "~~~",
                "ls <<EOF",
                "EOF",
                "done",
                "# File: a.py",
                "```python",
                "<<<<<<< SEARCH",
                "=======",
                ">>>>>>> REPLACE",
                "text",
                "",
            ]
        ),
        max_size=30,
    ).map("\n".join)
)
def test_any_answer_is_read(answer: str) -> None:
    turn = read_turn(answer)
    assert turn.command in answer
