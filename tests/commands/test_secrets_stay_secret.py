"""A key is in nothing that is shown or kept: lines, logs, audits, records, summaries,
tracebacks.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support import PATIENCE, ROOT, World

# None of these looks like a key of a known service, so only their having been
# registered can keep them secret.
SECRETS = (
    'canary-7Qw/9Zx+Rt2"Pl5',
    "kanari-\N{LATIN SMALL LETTER O WITH STROKE}-31415926535",
)
LOOKALIKE = "sk-ant-api03-Zm9vYmFyYmF6cXV4-Zm9vYmFyYmF6cXV4_AA"

WRITERS = """
import json, os, sys, threading
from pathlib import Path

from agentos.cli.main import guard_process
from agentos.run.console import Console
from tests.run.console.piped import Piped
from agentos.state.records import ItemRecord, write_record
from agentos.state.redaction import register
from agentos.run.report.audit import Audit
from agentos.run.report.rows import ResultRow
from agentos.run.report.summary import Summary
from agentos.item import Failure, Item, Kind, State, failed
from agentos.state.terminal_text import print_clean

guard_process()
folder = Path(sys.argv[1])
secrets, texts = json.load(sys.stdin)
assert all(register(secret) for secret in secrets)
item = Item(Kind.LLD, "42", "docs/issues/42.md")
with Console(environ={}, encoding="utf-8") as console:
    for number, words in enumerate(texts):
        console.say(f"said {words}")
        console.tell("LLD-42", f"told {words}")
        console.progress(0, 2, running=1, failed=0, note=f"noted {words}")
        capture = Piped(console, "LLD-42", folder / f"{number}.log")
        for end in (capture.stdout, capture.stderr):
            data = f"printed {words}\\nand unfinished {words}".encode()
            os.write(end, data[: len(data) // 2])
            os.write(end, data[len(data) // 2 :])
        capture.close_write_ends()
        assert capture.wait_drained(60)
        audit = Audit(folder / f"{number}.jsonl", "run", item)
        audit.record("error", {"traceback": f"in a trace {words}", words: [{"deep": words}]})
        audit.close()
        outcome = failed(Failure.PROVIDER, f"refused {words}")
        record = ItemRecord.of(item, outcome, digest="0", run="run", attempts=1, seconds=1.0)
        write_record(folder / f"{number}.record", record, folder / "temporary")
        entry = ResultRow(item, State.FAILED, outcome, outcome.message, 1.0, 1)
        command = f"lld-workflow {words}"
        summary = Summary("run", "lld", "repo", command, "", "", 1.0, 1, "logs", ("lld-workflow",), (entry,))
        (folder / f"{number}.summary").write_text("".join(summary.to_json_text()), "utf-8")
        console.data(summary.render())
for words in texts:
    print_clean(f"printed clean {words}\\n")

def fail(words):
    raise RuntimeError(f"failed with {words}")

thread = threading.Thread(target=fail, args=(secrets[0],))
thread.start()
thread.join()
fail(" ".join(secrets))
"""


def forms(secret: str) -> Iterator[str]:
    """Yield a secret in the forms that are claimed."""
    data = secret.encode()
    yield from (secret, json.dumps(secret)[1:-1], quote(secret, safe=""), data.hex())
    yield from (
        base64.b64encode(b"around"[:lead] + data + b"it").decode() for lead in range(3)
    )


def traces(secret: str) -> Iterator[str]:
    """Yield what would be left if a form had been missed: of base64, letters that no
    neighbour can change.
    """
    yield from (form[4:-4] for form in forms(secret))


TEXTS = (*SECRETS, " and ".join(form for secret in SECRETS for form in forms(secret)))


def texts_below(folder: Path) -> dict[str, str]:
    """Return every file below a folder as text."""
    return {
        str(path.relative_to(folder)): path.read_bytes().decode("utf-8", "replace")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return all that the writers of a process have written which knows the secrets and
    speaks of nothing else.
    """
    folder = tmp_path_factory.mktemp("written")
    done = subprocess.run(
        [sys.executable, "-c", WRITERS, str(folder)],
        input=json.dumps([SECRETS, TEXTS]).encode(),
        capture_output=True,
        cwd=ROOT,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 1, done.stderr.decode()
    return {
        "stdout": done.stdout.decode(),
        "stderr": done.stderr.decode(),
        **texts_below(folder),
    }


def test_registered_keys_come_out_of_no_writer(written: dict[str, str]) -> None:
    for name, text in written.items():
        assert "[REDACTED]" in text, name
        for secret in SECRETS:
            assert not any(trace in text for trace in traces(secret)), name


def test_what_was_said_around_a_key_stays(written: dict[str, str]) -> None:
    for words in ("said", "told"):
        assert written["stderr"].count(f"{words} [REDACTED]") == len(TEXTS)
    assert written["stdout"].count("printed clean [REDACTED]") == len(TEXTS)
    lines = ("and unfinished [REDACTED]", "printed [REDACTED]")
    assert sorted(written["0.log"].splitlines()) == sorted(
        (*lines, *(f"! {line}" for line in lines))
    )


def test_errors_that_nobody_caught_show_no_key(written: dict[str, str]) -> None:
    assert "Exception in thread" in written["stderr"]
    assert written["stderr"].endswith(
        "RuntimeError: failed with [REDACTED] [REDACTED]\n"
    )


def test_what_is_kept_as_json_is_json_still(written: dict[str, str]) -> None:
    audit = json.loads(written["0.jsonl"])
    assert audit["traceback"] == "in a trace [REDACTED]"
    assert audit["[REDACTED]"] == [{"deep": "[REDACTED]"}]
    assert json.loads(written["0.record"])["message"] == "refused [REDACTED]"
    summary = json.loads(written["0.summary"])
    assert summary["command"] == "lld-workflow [REDACTED]"
    assert summary["items"][0]["message"] == "refused [REDACTED]"


@pytest.mark.parametrize("output", [("-vv",), ("--json",)], ids=" ".join)
def test_what_looks_like_a_key_in_an_issue_is_neither_shown_nor_kept(
    world: World, output: tuple[str, ...]
) -> None:
    issues = world.repo / "docs" / "issues"
    first = issues / "1-export.md"
    first.write_text(
        f"{first.read_text('utf-8')}- [ ] `x-api-key: {LOOKALIKE}` is sent with {LOOKALIKE}\n",
        "utf-8",
    )
    (issues / f"4-{LOOKALIKE}.md").write_bytes(b"\xff\xff")
    (issues / f"{LOOKALIKE} and more.md").write_text("# Without a number\n", "utf-8")
    done = world.run("lld-workflow", "--all", "--parallel", "2", *output)
    assert done.code == 1, done.text
    assert "[REDACTED]" in done.stdout
    texts = {"stdout": done.stdout, "stderr": done.stderr, **texts_below(world.home)}
    assert any(name.endswith("summary.json") for name in texts)
    assert any(name.endswith(".jsonl") for name in texts)
    assert any(name.endswith(".log") for name in texts)
    assert [name for name, text in texts.items() if LOOKALIKE in text] == []
    if "--json" in output:
        assert json.loads(done.stdout)["counts"]["failed"] == 3


@pytest.mark.parametrize(
    "argument", [f"--key={LOOKALIKE}", LOOKALIKE, f"--issue={LOOKALIKE} {LOOKALIKE}"]
)
def test_what_looks_like_a_key_on_the_command_line_is_not_repeated(
    world: World, argument: str
) -> None:
    done = world.run("lld-workflow", argument)
    assert done.code == 2
    assert "[REDACTED]" in done.stderr
    assert LOOKALIKE not in done.text
