"""Redaction is for screens and logs: what is asked, answered and built is never
changed; with a key in it, refused.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agentos.state.redaction import fingerprint
from tests.designs import CODE, CODE_APPROVAL, TESTS, Item, fill
from tests.faults import market
from tests.replay.midflight import APPROVAL
from tests.scenario import ScenarioProcess
from tests.stand_in import write_draft
from tests.support import ISSUE, World, build_world

PLACEHOLDERS = (
    *(
        "anything",
        "not-needed",
        "lm-studio",
        "EMPTY",
        "required",
        "password",
        "sk-no-key-required",
    ),
    *("your-api-key-here", "dummy-key-for-local-server"),
)
WORDS = f"Its users say {', '.join(PLACEHOLDERS)}; the header is `x-api-key: anything`."
KEY = "sk-recorded-7Qw9Zx+Rt2/Pl5=0123"
NAME = fingerprint("openai", KEY)
MODEL = "openai:model-1"
PRICE = {"price_input": market.PRICE_INPUT, "price_output": market.PRICE_OUTPUT}
ASKING = (
    "--drafter",
    MODEL,
    "--reviewer",
    MODEL,
    "--price",
    f"{MODEL}={market.PRICE_INPUT:g}/{market.PRICE_OUTPUT:g}",
)


def design_with(words: str) -> str:
    """Return a design that passes every check and has these words in it."""
    inputs = {
        "item": "1",
        "issue": ISSUE.format(number=1),
        "previous_draft": "",
        "findings": "",
    }
    design = write_draft("lld.draft", inputs)
    head, title, rest = design.partition("\n## 2.")
    assert title
    return f"{head}\n{words}\n{title}{rest}"


def run_with(world: World, server: ScenarioProcess, key: str, *command: str) -> Any:
    """Run a command that asks the server with a key."""
    environ = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"{server.url}/v1"}
    return world.run(*command, *ASKING, environ=environ)


def documents(world: World) -> dict[str, str]:
    """Return every file below docs; days aside, as midnight may pass between two
    runs.
    """
    files = sorted(path for path in (world.repo / "docs").rglob("*") if path.is_file())
    texts = {
        path.relative_to(world.repo).as_posix(): path.read_text("utf-8")
        for path in files
    }
    return {
        name: re.sub(r"\d{4}-\d\d-\d\d(T[\d:]+Z)?", "DATE", text)
        for name, text in texts.items()
    }


def draft_with(folder: Path, key: str) -> tuple[dict[str, str], str]:
    """Have a design drafted whose text holds every placeholder; return all documents
    and what was printed.
    """
    world = build_world(folder, issues=1)
    answers = [{"purpose": "lld.draft", "text": design_with(WORDS)}]
    with ScenarioProcess({"answer": answers}, folder / "server") as server:
        ended = run_with(world, server, key, "lld-workflow", "--all")
    assert ended.code == 0, ended.text
    return documents(world), ended.stderr


@pytest.fixture(scope="module")
def drafted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the documents that come of a key that is one."""
    found, said = draft_with(tmp_path_factory.mktemp("drafted"), KEY)
    assert "placeholder" not in said
    assert WORDS in found["docs/lld/active/LLD-001.md"]
    return found


@pytest.mark.parametrize("key", PLACEHOLDERS)
def test_a_document_has_every_word_of_the_answer_whatever_the_key_is(
    drafted: dict[str, str], tmp_path: Path, key: str
) -> None:
    found, said = draft_with(tmp_path, key)
    assert found == drafted
    assert (
        said.count("openai: OPENAI_API_KEY looks like a placeholder, not like a key")
        == 1
    )


def build_with(folder: Path, key: str) -> dict[str, str]:
    """Have code written that holds every placeholder; return the files of its branch
    and all documents.
    """
    world = fill(build_world(folder, issues=0), Item(1))
    code = CODE.format(number=1).replace(
        "    return number", f"    # {WORDS}\n    return number"
    )
    tests = TESTS.format(number=1).replace("import pytest", f"# {WORDS}\nimport pytest")
    with ScenarioProcess(
        {
            "answer": [
                {"purpose": "other", "texts": [APPROVAL, tests, code, CODE_APPROVAL]}
            ]
        },
        folder / "s",
    ) as server:
        ended = run_with(
            world, server, key, "implement-workflow", "--all", "--writer", "single"
        )
    assert ended.code == 0, ended.text
    branch = git(
        world,
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/*op*",
        "refs/heads/**/*1*",
    ).split()[0]
    paths = git(world, "ls-tree", "-r", "--name-only", branch).splitlines()
    return {path: git(world, "show", f"{branch}:{path}") for path in paths}


def git(world: World, *arguments: str) -> str:
    """Ask git about the repository."""
    return subprocess.run(
        ("git", "-C", world.repo, *arguments),
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the branch that comes of a key that is one."""
    files = build_with(tmp_path_factory.mktemp("built"), KEY)
    assert f"    # {WORDS}\n" in files["calc/op1.py"]
    assert f"# {WORDS}\n" in files["tests/test_op1.py"]
    return files


@pytest.mark.parametrize("key", ["password", "dummy-key-for-local-server"])
def test_a_branch_has_every_word_of_the_answer_whatever_the_key_is(
    built: dict[str, str], tmp_path: Path, key: str
) -> None:
    assert build_with(tmp_path, key) == built


LOOKALIKE = "sk-ant-api03-Zm9vYmFyYmF6cXV4-Zm9vYmFyYmF6cXV4_AA"


def test_what_only_looks_like_a_key_is_not_rewritten(tmp_path: Path) -> None:
    world = build_world(tmp_path, issues=1)
    draft = design_with(f"Its key was {LOOKALIKE}.")
    with ScenarioProcess(
        {"answer": [{"purpose": "lld.draft", "text": draft}]}, tmp_path / "server"
    ) as server:
        ended = run_with(world, server, KEY, "lld-workflow", "--all", "-vv")
    assert ended.code == 1, ended.text
    assert LOOKALIKE not in ended.text
    kept = [text for name, text in documents(world).items() if "draft" in name]
    assert kept
    assert all(f"Its key was {LOOKALIKE}." in text for text in kept)


def test_a_question_is_answered_in_its_own_words(tmp_path: Path) -> None:
    world = build_world(tmp_path, issues=1)
    question = f"Is {LOOKALIKE} the key of the example?"
    verdict = {
        **json.loads(APPROVAL),
        "decision": "DISCUSS",
        "coverage": [],
        "questions": [question],
    }
    answers = [{"purpose": "lld.review", "text": json.dumps(verdict)}]
    with ScenarioProcess({"answer": answers}, tmp_path / "server") as server:
        ended = run_with(world, server, KEY, "lld-workflow", "--all")
    shown = [
        world.run("agentos", "answer", "LLD-1", *flags)
        for flags in ((), ("--json",), ("--text", "It is."))
    ]
    assert all(answer.code == 0 for answer in shown), shown
    assert not any(LOOKALIKE in finished.text for finished in (ended, *shown))
    assert json.loads(shown[1].stdout)["questions"] == [
        "Is [REDACTED] the key of the example?"
    ]
    assert question in (world.repo / "docs/answers/1-lld.md").read_text("utf-8")


def outcome(world: World) -> dict[str, Any]:
    """Return how the one item of the last run ended."""
    (item,) = market.read_summaries(world)[-1]["items"]
    return dict(item)


@pytest.mark.parametrize(
    "form", [KEY, base64.b64encode(KEY.encode()).decode(), quote(KEY, safe="")]
)
def test_a_prompt_with_a_key_in_the_issue_is_not_sent(
    tmp_path: Path, form: str
) -> None:
    world = build_world(tmp_path, issues=1)
    issue = world.repo / "docs/issues/1-export.md"
    issue.write_text(f"{issue.read_text('utf-8')}- [ ] It asks with {form}\n", "utf-8")
    line = issue.read_text("utf-8").count("\n")
    with ScenarioProcess({}, tmp_path / "server") as server:
        ended = run_with(world, server, KEY, "lld-workflow", "--all")
        assert server.ledger.admitted() == []
    assert ended.code == 1, ended.text
    told = f"docs/issues/1-export.md, line {line}, holds the key {NAME}; remove it from the repository and run again"
    assert (outcome(world)["class"], outcome(world)["message"]) == ("bad-input", told)
    assert form not in ended.text
    assert market.read_journal(world, "SELECT * FROM calls") == []
    assert find_traces(world, tmp_path, leaving=issue) == []


def test_a_prompt_with_a_key_in_a_file_of_the_repository_is_not_sent(
    tmp_path: Path,
) -> None:
    world = build_world(tmp_path, issues=1)
    (world.repo / "lists").mkdir()
    source = world.repo / "lists/export.py"
    source.write_text(
        f'"""Export."""\n\nLIMIT = 1\n\n\ndef export(key="{KEY}"):\n    """Export."""\n',
        "utf-8",
    )
    with ScenarioProcess({}, tmp_path / "server") as server:
        ended = run_with(world, server, KEY, "lld-workflow", "--all")
        assert server.ledger.admitted() == []
    assert ended.code == 1, ended.text
    assert outcome(world)["class"] == "bad-input"
    assert outcome(world)["message"].startswith(
        f"lists/export.py, line 6, holds the key {NAME}"
    )
    assert find_traces(world, tmp_path, leaving=source) == []
    source.write_text("LIMIT = 1\n", "utf-8")
    with ScenarioProcess({}, tmp_path / "again") as server:
        again = run_with(world, server, KEY, "lld-workflow", "--all")
    assert again.code == 0, again.text


def test_a_prompt_with_a_key_in_code_that_is_to_be_changed_is_not_sent(
    tmp_path: Path,
) -> None:
    item = Item(1, files={"calc/basic.py": "Modify", "tests/test_op1.py": "Add"})
    world = fill(build_world(tmp_path, issues=0), item)
    path = world.repo / "calc/basic.py"
    path.write_text(f'{path.read_text("utf-8")}\n\nTOKEN = "{KEY}"\n', "utf-8")
    git(
        world,
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.org",
        "commit",
        "-qam",
        "x",
    )
    line = path.read_text("utf-8").count("\n")
    # The file as it is now comes back with what could not be applied.
    edit = "```python\n# Edit: calc/basic.py\n<<<<<<< SEARCH\nnot there\n=======\n>>>>>>> REPLACE\n```\n"
    tests = TESTS.format(number=1).replace("calc.op1", "calc.basic")
    answers = [APPROVAL, tests, edit]
    with ScenarioProcess(
        {"answer": [{"purpose": "other", "texts": answers}]}, tmp_path / "server"
    ) as server:
        ended = run_with(
            world, server, KEY, "implement-workflow", "--all", "--writer", "single"
        )
    assert ended.code == 1, ended.text
    assert outcome(world)["class"] == "bad-input"
    assert outcome(world)["message"].startswith(
        f"calc/basic.py, line {line}, holds the key {NAME}"
    )


ECHOES = {
    "raw": KEY,
    "base64": base64.b64encode(f"around {KEY} it".encode()).decode(),
    "percent-encoded": quote(KEY, safe=""),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_an_answer_with_a_key_ends_the_item_and_nothing_of_it_is_kept(
    tmp_path: Path, echo: str
) -> None:
    world = build_world(tmp_path, issues=1)
    subprocess.run(["git", "init", "-q", str(world.repo)], check=True)
    script = {
        "answer": [{"purpose": "lld.draft", "text": design_with(f"It echoes {echo}.")}],
        **PRICE,
    }
    with ScenarioProcess(script, tmp_path / "server") as server:
        ended = run_with(world, server, KEY, "lld-workflow", "--all", "-vv")
        (call,) = server.ledger.admitted()
        bill = round(call.cost * 1e6)
    assert ended.code == 1, ended.text
    assert outcome(world)["class"] == "secret"
    assert f"the answer held the key {NAME} (sha256 " in outcome(world)["message"]
    assert market.read_journal(world, "SELECT state, cost FROM calls") == [
        ("failed", bill)
    ]
    assert market.read_journal(world, "SELECT * FROM answers") == []
    assert bill > 0
    assert market.read_summaries(world)[-1]["cost"] == pytest.approx(bill / 1e6)
    assert find_traces(world, tmp_path) == []
    assert not any(trace in ended.text for trace in traces())


def traces() -> Iterator[str]:
    """Yield what would be left of any form of the key if its ends were changed or cut
    off.
    """
    forms = [KEY, quote(KEY, safe=""), json.dumps(KEY)[1:-1], KEY.encode().hex()]
    forms += [
        base64.b64encode(b"around "[:lead] + KEY.encode() + b" it").decode()
        for lead in range(8)
    ]
    yield from (form[5:-5] for form in forms)


def find_traces(world: World, folder: Path, leaving: Path | None = None) -> list[str]:
    """Commit what a run has left, and return the files and objects that hold any form
    of the key.
    """
    needles = [trace.encode() for trace in traces()]
    paths = [
        path
        for place in (world.home, world.repo)
        for path in place.rglob("*")
        if path.is_file()
    ]
    held = [
        path
        for path in paths
        if path != leaving and any(needle in path.read_bytes() for needle in needles)
    ]
    found = [str(path.relative_to(folder)) for path in held]
    answers = [
        zlib.decompress(text)
        for (text,) in market.read_journal(world, "SELECT text FROM answers")
    ]
    found += [
        "an answer" for answer in answers if any(needle in answer for needle in needles)
    ]
    if leaving is None:
        identity = (
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.org",
            "-c",
            "commit.gpgsign=false",
        )
        git(world, "add", "-A")
        git(world, *identity, "commit", "-q", "-m", "x")
        objects = subprocess.run(
            ("git", "-C", world.repo, "cat-file", "--batch-all-objects", "--batch"),
            check=True,
            capture_output=True,
        ).stdout
        found += ["git"] if any(needle in objects for needle in needles) else []
    return found
