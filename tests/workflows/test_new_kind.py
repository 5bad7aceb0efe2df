"""Carry out the recipe of CONTRIBUTING.md for a new kind of document, and run it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import ROOT, World, build_world, wait_gone

pytestmark = pytest.mark.slow
_FILE = re.compile(
    r"^`([^`\n]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
QUESTION = """\
# Which database keeps list {number}?

- It has at most 10,000 entries
- A backup takes less than 5 seconds
"""
DRAFT = """\
# Keep list {number} in SQLite

## Context

One file, one writer.

## Decision

SQLite, in WAL mode.

## Consequences

A backup is a copy of one file.
"""
APPROVAL = {
    "decision": "APPROVED",
    "summary": "It answers the question.",
    "findings": [],
    "resolved_questions": [],
    "questions": [],
    "coverage": [],
}
DISCUSSION = APPROVAL | {
    "decision": "DISCUSS",
    "summary": "A person decides.",
    "questions": ["May it be lost?"],
}


def recipe() -> dict[str, str]:
    """Return the files that CONTRIBUTING shows."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    _, _, section = text.partition("## A new kind of document")
    return dict(_FILE.findall(section))


def install(project: Path, target: Path) -> None:
    """Install a package into a folder, without network."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*command, *options, str(project)], check=True)


def declare(folder: Path, name: str) -> None:
    """Write what an installation leaves of a package with a kind of this name."""
    info = f"agentos_{name}-0.1.dist-info"
    points = f"[agentos.workflows]\n{name} = agentos_{name}:RECORD\n"
    metadata = f"Name: agentos-{name}\nVersion: 0.1\n"
    files = {f"{info}/METADATA": metadata, f"{info}/entry_points.txt": points}
    write_files(folder, files)


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe's package, installed in a folder of its own."""
    project = tmp_path_factory.mktemp("project")
    write_files(project, recipe())
    target = tmp_path_factory.mktemp("installed")
    install(project, target)
    return target


@pytest.fixture
def world(tmp_path: Path, installed: Path) -> World:
    """A repository with two questions, and the package on the path."""
    made = build_world(tmp_path, issues=0)
    for number in (7, 12):
        path = made.repo / "docs/questions" / f"{number}-database.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(QUESTION.format(number=number))
    return replace(made, environ={**made.environ, "PYTHONPATH": str(installed)})


def record(folder: Path, *rounds: tuple[str, Mapping[str, object]]) -> str:
    """Record answers for both items; return the model that gives them."""
    for number in ("7", "12"):
        place = folder / number
        place.mkdir(parents=True)
        for round, (draft, verdict) in enumerate(rounds, 1):
            (place / f"adr-draft-{round}.md").write_text(draft.format(number=number))
            text = json.dumps(verdict)
            (place / f"adr-review-{round}.json").write_text(text)
    return f"offline:answers={folder}"


def test_the_recipe_has_every_file_that_a_kind_needs() -> None:
    assert sorted(recipe()) == [
        "agentos_adr/__init__.py",
        "agentos_adr/prompts/draft.md",
        "agentos_adr/prompts/review.md",
        "agentos_adr/templates/adr.md",
        "pyproject.toml",
    ]


def test_two_items_run_in_parallel_and_end_in_their_places(
    world: World, tmp_path: Path
) -> None:
    model = record(tmp_path / "answers", (DRAFT, APPROVAL))
    done = world.run(
        *("agentos", "run", "adr", "--all", "--parallel", "2"),
        *("--drafter", model, "--reviewer", model),
    )
    assert done.code == 0, done.text
    assert "[ADR-7]" in done.stdout
    for number in ("007", "012"):
        text = (world.repo / f"docs/adr/{number}.md").read_text()
        assert "**Final Status:** APPROVED" in text
        assert "<!-- agentos: workflow=adr/1 text=sha256:" in text
    lineage = world.repo / "docs/lineage/active/12-adr"
    names = sorted(path.name for path in lineage.iterdir())
    assert names == [
        "001-question.md",
        "002-draft.md",
        "003-verdict.md",
        "004-final.md",
        "findings.json",
    ]
    assert not (world.repo / "docs/lld").exists()
    status = world.run("agentos", "status", "--json")
    items = json.loads(status.stdout)["items"]
    assert {(row["label"], row["workflow"], row["status"]) for row in items} == {
        ("ADR-7", "adr", "approved"),
        ("ADR-12", "adr", "approved"),
    }
    again = world.run("agentos", "run", "adr", "--all")
    assert again.code == 0
    assert again.stdout.startswith("Nothing to do"), again.text


def test_it_runs_from_this_repository_too(world: World, tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    bullet = text.partition("- **In this repository**")[2].partition("\n\n")[0]
    place, module, package, settings, point = re.findall(r"`([^`]+)`", bullet)
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "agentos", copy / "agentos")
    for name in (settings, "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    for name, content in recipe().items():
        if name.startswith(module):
            target = name.replace(module, place)
            named = content.replace(f'package="{module}"', package)
            write_files(copy, {target: named})
    table = '\n[project.entry-points."agentos.workflows"]\n'
    assert table in recipe()["pyproject.toml"]
    with (copy / settings).open("a") as file:
        file.write(f"{table}{point}\n")
    install(copy, tmp_path / "installed")
    environ = {"PYTHONPATH": str(tmp_path / "installed")}
    done = world.run(
        *("agentos", "run", "adr", "--ids", "7"),
        *("--reviewer", "offline:approve_after=1"),
        environ=environ,
    )
    assert done.code == 0, done.text
    assert (world.repo / "docs/adr/007.md").exists()


def test_its_own_check_sends_a_draft_back(world: World, tmp_path: Path) -> None:
    bad = DRAFT.replace("Consequences", "Results")
    model = record(tmp_path / "answers", (bad, APPROVAL), (DRAFT, APPROVAL))
    done = world.run(
        *("agentos", "run", "adr", "--ids", "7"),
        *("--drafter", model, "--reviewer", model),
    )
    assert done.code == 0, done.text
    lineage = world.repo / "docs/lineage/active/7-adr"
    assert "consequences" in (lineage / "003-validation.md").read_text()
    assert "## Consequences" in (world.repo / "docs/adr/007.md").read_text()


def test_a_killed_run_is_resumed(world: World) -> None:
    command = (
        *("agentos", "run", "adr", "--all", "--parallel", "2"),
        *("--reviewer", "offline:approve_after=1", "--drafter"),
    )
    with world.start(*command, "offline:fault=hang@12") as running:
        running.wait_for(r"ADR-7\] SIMULATED")
        running.wait_for(r"ADR-12\] >>> Executing: N1_draft")
        children = running.descendants()
        running.signal(signal.SIGKILL)
        running.process.wait()
    assert wait_gone(children, 30) == []
    checkpoints = list((world.home / "checkpoints").rglob("adr_workflow_12.db"))
    assert len(checkpoints) == 1
    again = world.run(*command, "offline")
    assert again.code == 0, again.text
    assert "[ADR-12] >>> Executing: N1_draft" in again.stdout
    assert "[ADR-12] >>> Executing: N0_load" not in again.stdout
    assert "SIMULATED" in (world.repo / "docs/adr/012.md").read_text()
    assert world.leftovers() == []


def test_a_reviewers_question_is_answered(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    model = record(folder, (DRAFT, DISCUSSION))
    record(folder / "later", (DRAFT, APPROVAL))
    for number in ("7", "12"):
        (folder / "later" / number).rename(folder / number / "answered")
    models = ("--drafter", model, "--reviewer", model)
    asked = world.run("agentos", "run", "adr", "--ids", "7", *models)
    assert "May it be lost?" in asked.text
    answered = world.run("agentos", "answer", "ADR-7", "--text", "Never.")
    assert "agentos run adr --ids 7" in answered.stdout
    done = world.run("agentos", "run", "adr", "--ids", "7", *models)
    assert done.code == 0, done.text
    assert "Never." in (world.repo / "docs/answers/7-adr.md").read_text()
    assert (world.repo / "docs/adr/007.md").exists()


def test_triage_and_dry_run_know_it(world: World) -> None:
    vague = world.repo / "docs/questions/30-vague.md"
    vague.write_text("# Speed\n\nMake it fast.\n")
    triage = world.run("agentos", "triage", "adr")
    assert triage.code == 1, triage.text
    assert "ADR-30" in triage.stdout
    dry = world.run("agentos", "run", "adr", "--all", "--dry-run", "--json")
    assert dry.code == 0, dry.text
    shown = json.loads(dry.stdout)
    assert [item["label"] for item in shown["items"]] == ["ADR-7", "ADR-12", "ADR-30"]
    assert shown["workflow"] == "adr"


def test_a_repository_overrides_its_prompts(world: World) -> None:
    write_files(
        world.repo, {".agentos/prompts/adr-draft.md": "inputs: item\n\n{{item}}"}
    )
    done = world.run("agentos", "run", "adr", "--all", "--dry-run")
    assert done.code == 2
    assert "adr-draft.md: lacks {{question}}" in done.stderr
    write_files(world.repo, {".agentos/templates/adr.md": "# Title\n\n## Context\n"})
    (world.repo / ".agentos/prompts/adr-draft.md").unlink()
    done = world.run("agentos", "run", "adr", "--all", "--dry-run")
    assert done.code == 2
    assert "adr.md: lacks '## Decision'" in done.stderr


def with_folders(*folders: str) -> tuple[str, str]:
    """Return the change that gives the recipe's record these folders."""
    package = 'package="agentos_adr",'
    return package, f"{package} folders={folders!r},"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("RECORD = ", "import nowhere\nRECORD = "), "No module named 'nowhere'"),
        (("RECORD = KindRecord(", "RECORD = dict("), "is not a KindRecord"),
        (('name="adr"', 'name="../adr"'), "is named '../adr'"),
        (('"docs/adr/{number}.md"', '"/etc/{number}.md"'), "must lead into"),
        (('"docs/adr/{number}.md"', '"docs/adr.md"'), "needs {id}"),
        (('"docs/adr/{number}.md"', '"docs/adr/{name}.md"'), "needs {id} or {number}"),
        (('"docs/adr/{number}.md"', '"docs/{id}/{x}.md"'), "no other braces"),
        (('label="ADR"', 'label="LLD"'), "its label 'LLD' is that of the kind lld"),
        (with_folders("docs/l/{number}"), "needs {id}, or items share it"),
        (with_folders("adr-{id}"), "must lie in another one"),
        (with_folders("docs/l/{id}/"), "must lie in another one"),
        (with_folders("docs/l/{id}", "docs/m/{id}"), "one folder is enough"),
        (
            with_folders("docs/lineage/active/{id}-lld"),
            "its folder 'docs/lineage/active/{id}-lld' is that of the kind lld",
        ),
        (('"docs/questions"', "5"), "its inputs must be text, not 5"),
        (('"docs/adr/{', '"docs/lld/active/{'), "among those of lld"),
    ],
)
def test_a_broken_kind_harms_only_its_own_runs(
    world: World, tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    files = recipe()
    old, new = change
    module = "agentos_adr/__init__.py"
    assert old in files[module]
    files[module] = files[module].replace(old, new, 1)
    write_files(tmp_path / "broken", files)
    declare(tmp_path / "broken", "adr")
    environ = {"PYTHONPATH": str(tmp_path / "broken")}
    refused = world.run("agentos", "run", "adr", "--all", environ=environ)
    assert refused.code == 2
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 1
    assert complaint in refused.stderr
    status = world.run("agentos", "status", environ=environ)
    assert status.code == 0
    assert f"Warning: {refused.stderr.partition(': ')[2]}" in status.stderr
    other = world.run("agentos", "lld", "--all", "--dry-run", environ=environ)
    assert (other.code, other.stderr) == (0, "")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('"docs/adr/', '"docs/rfc/'), "its label 'ADR' is that of the kind {other}"),
        (('label="ADR"', 'label="RFC"'), "lie among those of {other}"),
    ],
)
def test_of_two_kinds_in_one_place_none_runs(
    world: World, tmp_path: Path, change: tuple[str, str], complaint: str
) -> None:
    module = recipe()["agentos_adr/__init__.py"]
    other = module.replace('name="adr"', 'name="rfc"').replace(*change)
    both = {"agentos_adr/__init__.py": module, "agentos_rfc/__init__.py": other}
    write_files(tmp_path / "both", both)
    environ = {"PYTHONPATH": str(tmp_path / "both")}
    for name in ("adr", "rfc"):
        declare(tmp_path / "both", name)
    for name, clashing in (("adr", "rfc"), ("rfc", "adr")):
        refused = world.run("agentos", "run", name, "--all", environ=environ)
        assert refused.code == 2
        assert len(refused.stderr.splitlines()) == 1
        assert complaint.format(other=clashing) in refused.stderr


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        ("prompts/review.md", "No such file"),
        ("templates/adr.md", "No such file"),
        ("make_flow", "it has no flow"),
    ],
)
def test_an_incomplete_package_is_one_line(
    world: World, tmp_path: Path, installed: Path, missing: str, complaint: str
) -> None:
    copy = tmp_path / "incomplete"
    shutil.copytree(installed, copy)
    file = copy / "agentos_adr" / missing
    if file.exists():
        file.unlink()
    else:
        module = copy / "agentos_adr/__init__.py"
        module.write_text(module.read_text().replace("def make_flow", "def other"))
    environ = {"PYTHONPATH": str(copy)}
    for more in ((), ("--dry-run",)):
        refused = world.run("agentos", "run", "adr", "--all", *more, environ=environ)
        assert refused.code == 2
        assert len(refused.stderr.splitlines()) == 1
        assert complaint in refused.stderr
        assert "must have make_flow(), prompts/draft.md" in refused.stderr


def test_an_unknown_kind_is_one_line(world: World) -> None:
    refused = world.run("agentos", "run", "rfc", "--all")
    assert refused.code == 2
    assert "known are issue, lld, implementation, adr" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    nameless = world.run("agentos", "run")
    assert nameless.code == 2
    assert "name a kind: issue, lld, implementation, adr;" in nameless.stderr


def test_commands_of_built_in_kinds_look_up_no_entry_points(world: World) -> None:
    code = (
        "import sys; from agentos.cli.main import main\n"
        "try: main({argv!r})\n"
        "except SystemExit: pass\n"
        "sys.exit('importlib.metadata' in sys.modules)"
    )
    (world.repo / ".git").mkdir()
    for argv in (["lld", "--help"], ["lld", "--all", "--dry-run"]):
        ended = subprocess.run(
            [sys.executable, "-c", code.format(argv=argv)],
            cwd=world.repo,
            env=dict(world.environ),
            check=False,
            capture_output=True,
        )
        assert ended.returncode == 0, ended.stderr


def test_a_prompt_with_another_source_is_refused_before_anything_runs(
    world: World, tmp_path: Path, installed: Path
) -> None:
    copy = tmp_path / "wrong"
    shutil.copytree(installed, copy)
    prompt = copy / "agentos_adr/prompts/draft.md"
    prompt.write_text(prompt.read_text().replace("question", "riddle"))
    environ = {"PYTHONPATH": str(copy)}
    refused = world.run("agentos", "run", "adr", "--all", "--dry-run", environ=environ)
    assert refused.code == 2
    assert "the first line of prompts/draft.md declares riddle" in refused.stderr
    assert "question" in refused.stderr


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return draft.nope", "AttributeError: 'str' object has no attribute 'nope'"),
        ("return ['bad']", "it returned 'bad', not a Finding"),
        ("import json; json.loads('{')", "JSONDecodeError"),
    ],
)
def test_an_error_in_a_check_is_told_with_its_place(
    world: World, tmp_path: Path, installed: Path, body: str, complaint: str
) -> None:
    copy = tmp_path / "failing"
    shutil.copytree(installed, copy)
    module = copy / "agentos_adr/__init__.py"
    lines = module.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("def check"))
    lines.insert(at + 2, f"    {body}")
    module.write_text("\n".join(lines))
    model = record(tmp_path / "answers", (DRAFT, APPROVAL))
    done = world.run(
        *("agentos", "run", "adr", "--ids", "7"),
        *("--drafter", model, "--reviewer", model),
        environ={"PYTHONPATH": str(copy)},
    )
    assert done.code == 1, done.text
    assert "the check of the kind adr failed with " in done.stderr
    assert complaint in done.stderr
    if "Finding" not in complaint:
        assert f"__init__.py, line {at + 3})" in done.stderr
    assert "Traceback" not in done.text
