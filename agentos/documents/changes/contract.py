"""How a model answers with files: the sentences that its prompt says, each with an
example that the reader of answers takes.

The prompts show these clauses, and the refusals of answers use the same words. A `role`
is `tests` or `code`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

WHOLE_LINES = "SEARCH is whole lines of the file"
FOUND_ONCE = "give as many lines as it takes to be found once"
LONGER_FENCE = "use a fence that is longer than any fence inside"
LONGER_MARKS = "write all its marks longer"
WRITTEN_OUT = "write out every line; `...` stands for nothing"
NAME_WHOLE = "a line `# File: {path}` begins the block of a whole file"
NAME_EDIT = "a line `# Edit: {path}` begins the block of an edit"
NAMELESS = "the section is in no block that names a file"
REASON = "a line `Reason: ...` below the line that names the file"
OUTSIDE = "Lines that are no text of a file stand outside all fences"
BLOCKED = "`blocked: REASON`"
CONTEST = "`contest: TEST_NAME: REASON`"
KEPT = "`kept: 030, 040: REASON`"
UNREACHABLE = "`unreachable: PATH 12-14: REASON`"
DONE = "done"
ONE_COMMAND = "a turn has one command at most"
UNDECLARED = "`undeclared: PATH: REASON`"

TESTS = "tests"
CODE = "code"
ROLES = (TESTS, CODE)

_NOT_IN_TURNS = frozenset({"unnamed block", "statements"})

_NEW: Mapping[str, str] = {TESTS: "tests/test_total.py", CODE: "shop/total.py"}
_OLD: Mapping[str, str] = {TESTS: "tests/test_cart.py", CODE: "shop/cart.py"}


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that an answer can say."""

    name: str
    text: str
    """The sentences of the prompt."""
    example: str = ""
    """An answer that says it."""
    is_shown: bool = True
    """Whether the prompt shows the example."""


def clauses(role: str) -> Iterator[Clause]:
    """Yield what a role can say, in the order of the prompt."""
    new = _NEW[role]
    old = _OLD[role]
    yield Clause("whole file", _say_whole(role), _whole(new))
    yield Clause("edit", _say_edit(role), _edit(old))
    yield Clause(
        "several edits",
        "An edit has as many sections as you need; each SEARCH is of the text that you"
        " are shown. If one section cannot be applied, none of that file's is; the other"
        " files of your answer are kept.",
        _edits(old),
        is_shown=False,
    )
    yield Clause(
        "new file by an edit",
        "An empty SEARCH is only for a file that is new or empty.",
        _edit_of_nothing(new),
        is_shown=False,
    )
    if role == CODE:
        yield Clause(
            "deletion",
            "A file to be removed is a line outside all fences:",
            "# Delete: shop/old.py\n",
        )
        yield Clause(
            "reason",
            f"A file that the design does not declare needs {REASON}; it is reported as"
            " a deviation:",
            _block("shop/money.py", "File", "Reason: two files round\nCENT = 0.01\n"),
        )
    yield Clause(
        "longer fence",
        f"Around text that contains fences, {LONGER_FENCE}; a block that could end at"
        " two places is refused. Text that contains lines like the marks of a section"
        " needs longer marks, all three of the same length.",
        _fenced(new),
        is_shown=False,
    )
    yield Clause(
        "written out",
        f"In files and in sections {WRITTEN_OUT}. No line numbers, and no `+` or `-` in"
        " front of lines.",
    )
    yield Clause(
        "unnamed block",
        "If there is only one file that you can mean, a single block without a name is"
        " taken for it.",
        _unnamed(new),
        is_shown=False,
    )
    yield Clause(
        "blocked",
        "If you cannot go on because the design, the repository or a tool is in the way,"
        f" answer with a line {BLOCKED} and no blocks. A person reads it, and the work"
        " on this item ends.",
        _BLOCKED[role],
    )
    if role == CODE:
        yield Clause(
            "contest",
            f"If a test is wrong, a line {CONTEST} beside your blocks says so, one for"
            " each such test. The reviewer decides. Write the code as the design wants"
            " it meanwhile.",
            "contest: test_020_empty_cart: an empty cart costs 0, the test wants None\n",
        )
    else:
        yield Clause(
            "kept",
            "A scenario about behavior that exists and must not change may pass before"
            f" the code. A line {KEPT} beside your blocks names these scenarios. The"
            " reviewer decides.",
            "kept: 030, 040: the total of a full cart stays as it is\n",
        )
        yield Clause(
            "unreachable",
            "If you are told of lines that no test runs, and no test can reach some of"
            f" them here (another platform, a race), a line {UNREACHABLE} says so, one"
            " for each place. The reviewer of the change decides; what does not convince"
            " needs a test.",
            "unreachable: shop/lock.py 12-14, 20: only Windows lacks `fcntl`\n",
        )
    yield Clause(
        "statements",
        f"{OUTSIDE}. Other prose around the blocks is not read.",
    )


def turn_clauses(role: str) -> Iterator[Clause]:
    """Yield what a role can say in one turn of a loop, in the order of the prompt."""
    yield Clause(
        "command",
        "A command is one fenced block `bash`, one a turn at most:",
        "```bash\nrun-tests\n```\n",
    )
    for clause in clauses(role):
        if clause.name in _NOT_IN_TURNS:
            continue
        if clause.name == "reason":
            yield Clause(
                "undeclared",
                "A file that the design does not declare and that the work needs is"
                f" named in a line {UNDECLARED}; it is reported as a deviation. Remove"
                " what you made only to try something.",
                "undeclared: shop/money.py: two files round\n",
            )
            continue
        yield clause
    yield Clause(
        "done",
        f"When the work is finished, and you have seen it work, a line `{DONE}`. Beside a"
        " command it counts if the command ends with exit code 0. The work is then"
        " judged; what is wrong is told to you, and you go on.",
        f"{DONE}\n",
    )


def answering(role: str, *, in_turns: bool = False) -> str:
    """Write the clauses of a role for its prompt."""
    parts = []
    told = turn_clauses(role) if in_turns else clauses(role)
    for clause in told:
        parts.append(clause.text)
        if clause.example and clause.is_shown:
            parts.append(clause.example.rstrip("\n"))
    return "\n\n".join(parts)


def _say_whole(role: str) -> str:
    what = "A new file, or a small one that changes all over"
    if role == TESTS:
        what = "A new test file"
    return f"{what}: one fenced block with all of its text. {_begin(NAME_WHOLE)}:"


def _begin(sentence: str) -> str:
    text = sentence.format(path="path")
    return text[0].upper() + text[1:]


def _say_edit(role: str) -> str:
    what = "A change to a file that exists"
    if role == TESTS:
        what = (
            "A test file that exists is added to, and every test in it stays. A change"
            " to it"
        )
    return (
        f"{what}: one fenced block with exact replacements. {_begin(NAME_EDIT)}."
        f" {WHOLE_LINES}, letter by letter, with their indentation; {FOUND_ONCE}, and no"
        " more. The marks begin in the first column:"
    )


_BODY: Mapping[str, str] = {
    TESTS: "from shop.total import total\n\n\n"
    "def test_010_total_of_nothing():\n    assert total([]) == 0\n",
    CODE: "def total(prices):\n    return sum(prices)\n",
}
_BLOCKED: Mapping[str, str] = {
    TESTS: "blocked: the design names no result for scenario 020\n",
    CODE: "blocked: section 2.4 wants a `Cart` without a name, and `Order` needs it\n",
}


def _role_of(path: str) -> str:
    if path.startswith("tests/"):
        return TESTS
    return CODE


def _block(path: str, verb: str, body: str, *, fence: str = "```") -> str:
    return f"{fence}python\n# {verb}: {path}\n{body}{fence}\n"


def _section(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n"


def _whole(path: str) -> str:
    body = _BODY[_role_of(path)]
    return _block(path, "File", body)


def _edit(path: str) -> str:
    return _block(path, "Edit", _first_section(path))


def _edits(path: str) -> str:
    first = _first_section(path)
    second = _section("LIMIT = 10\n", "LIMIT = 20\n")
    return _block(path, "Edit", first + second)


def _first_section(path: str) -> str:
    if _role_of(path) == TESTS:
        search = "    assert len(cart) == 1\n"
        added = "\n\ndef test_010_cart_is_empty():\n    assert not Cart()\n"
        return _section(search, search + added)
    return _section("    return total\n", "    return round(total, 2)\n")


def _edit_of_nothing(path: str) -> str:
    body = _BODY[_role_of(path)]
    return _block(path, "Edit", _section("", body))


def _fenced(path: str) -> str:
    body = _BODY[_role_of(path)] + '\n\nEXAMPLE = """\n```\ntotal([])\n```\n"""\n'
    return _block(path, "File", body, fence="````")


def _unnamed(path: str) -> str:
    body = _BODY[_role_of(path)]
    return f"```python\n{body}```\n"
