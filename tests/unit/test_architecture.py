"""The arrows of the architecture hold: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "agentos"
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    """Return the modules that a file imports, late imports included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def importers(prefix: str, below: str) -> list[str]:
    """Return the files under a folder that import something with this prefix."""
    return [
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if path.relative_to(PACKAGE).as_posix().startswith(below)
        and any(name == prefix or name.startswith(f"{prefix}.") for name in imports_of(path))
    ]


def test_nothing_imports_the_commands() -> None:
    outside = [path for path in importers("agentos.cli", "") if not path.startswith("cli/")]
    assert outside == []


@pytest.mark.parametrize("prefix", ["langgraph", "agentos.providers", "agentos.gateway", "agentos.workers"])
def test_the_parallel_library_knows_no_graph_and_no_provider(prefix: str) -> None:
    assert importers(prefix, "workflows/parallel/") == []


def test_providers_know_no_workflow() -> None:
    assert importers("agentos.workflows", "providers/") == []


def test_documents_import_nothing_of_ours() -> None:
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] == "documents":
            ours = {name for name in imports_of(path) if name.startswith("agentos")}
            assert all(name.startswith("agentos.documents") for name in ours), path


def test_only_the_workflows_touch_the_graph_library() -> None:
    users = importers("langgraph", "") + importers("langchain_core", "")
    assert users
    assert all(path.startswith("workflows/") for path in users), users


def test_no_module_is_a_heap() -> None:
    for path in MODULES:
        assert path.stem not in ("utils", "helpers", "common", "manager")


def test_prompts_and_rules_bring_no_graph_library_with_them() -> None:
    packages = ("lld", "issue", "implementation", "overrides", "catalogue")
    imports = "; ".join(f"import agentos.workflows.{name}" for name in packages)
    check = f"import sys; {imports}; assert 'langgraph' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_programs_are_searched_for_in_one_place() -> None:
    searching = [path for path in MODULES if "shutil.which" in path.read_text("utf-8")]
    assert [path.name for path in searching] == ["programs.py"]
