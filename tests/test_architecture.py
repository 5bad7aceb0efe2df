"""What import-linter cannot hold about the architecture; its contracts are in pyproject.toml."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "agentos"
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_no_module_is_a_heap() -> None:
    for path in MODULES:
        assert path.stem not in ("utils", "helpers", "common", "manager")


def test_prompts_and_rules_bring_no_graph_library_with_them() -> None:
    packages = (
        "drafting.lld",
        "drafting.issue",
        "implementation",
        "prompts.overrides",
        "engine.flows",
    )
    imports = "; ".join(f"import agentos.workflows.{name}" for name in packages)
    check = f"import sys; {imports}; assert 'langgraph' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_programs_are_searched_for_in_one_place() -> None:
    searching = [path for path in MODULES if "shutil.which" in path.read_text("utf-8")]
    assert [path.name for path in searching] == ["programs.py"]


ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


def reads_environment(path: Path) -> bool:
    """Tell whether a file uses the environment by the module `os`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module="os", names=names):
                if any(alias.name in ENVIRONMENT for alias in names):
                    return True
            case ast.Attribute(value=ast.Name(id="os"), attr=name):
                if name in ENVIRONMENT:
                    return True
    return False


def test_the_environment_is_read_in_one_place() -> None:
    readers = [
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        # What runs inside the sandbox is loaded without the package.
        if "inside" not in path.parts and reads_environment(path)
    ]
    assert readers == ["state/variables.py"]


def starts_git(path: Path) -> bool:
    """Tell whether a file starts programs and has the name of git as a literal."""
    starts_programs = False
    names_git = False
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                starts_programs |= any(alias.name == "subprocess" for alias in names)
            case ast.ImportFrom(module="subprocess" | "asyncio.subprocess"):
                starts_programs = True
            case ast.Attribute(attr=name) if name.startswith(
                ("create_subprocess", "exec", "posix_spawn", "spawn")
            ):
                starts_programs = True
            case ast.Constant(value="git" | b"git"):
                names_git = True
    return starts_programs and names_git


def test_git_is_run_by_one_function() -> None:
    # What runs inside the sandbox has git of its own, on a copy.
    modules = [path for path in MODULES if "inside" not in path.parts]
    runners = [path for path in modules if starts_git(path)]
    assert [path.relative_to(PACKAGE).as_posix() for path in runners] == [
        "repository/git/run.py"
    ]


def retries(path: Path) -> bool:
    """Tell whether a file computes waits that double, or limits the attempts."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.BinOp(left=ast.Constant(value=2), op=ast.Pow()):
                return True
            case ast.Assign(targets=[ast.Name(id=name)]):
                if name.endswith(("ATTEMPTS", "RETRIES")):
                    return True
    return False


def test_retries_are_decided_in_few_places() -> None:
    places = [path.relative_to(PACKAGE).as_posix() for path in MODULES if retries(path)]
    assert places == [
        # How long a quota group rests; what becomes of a call is up to the policy.
        "gateway/keys/limits.py",
        "gateway/retry_policy.py",
        # What the client raises as `Unclear` is looked for before it is sent again.
        "repository/forge/asking/asker.py",
        "repository/forge/filing/sending.py",
        "repository/forge/github/client.py",
        "repository/forge/pulls/requests.py",
        "run/item_run.py",
        # A model is asked anew for an answer that cannot be used.
        "workflows/implementation/scaffolding.py",
        "workflows/verdicts.py",
    ]
