"""Tell which files in a repository run by themselves, decide what is installed, or judge the work.

A design has to declare them; a reason alone does not open them. What is asked, approved and answered is recorded in
the repository too, and no answer ever writes there.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase

from agentos.documents.changes.paths import fold_name

_NAMES = frozenset(
    {
        # What Python, pytest and coverage load or read without being asked.
        *("conftest.py", "sitecustomize.py", "usercustomize.py", "pyproject.toml", "setup.py", "setup.cfg"),
        *("tox.ini", "tox.toml", "pytest.ini", ".pytest.ini", "pytest.toml", ".coveragerc", "noxfile.py"),
        *("mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".flake8", ".pylintrc", "manifest.in", "hatch.toml"),
        # What builds and tasks run.
        *("makefile", "gnumakefile", "bsdmakefile", "justfile", ".justfile", "rakefile", "taskfile.yml", "dodo.py"),
        *("dockerfile", "containerfile", "docker-compose.yml", "compose.yml", "compose.yaml", "procfile", "build.rs"),
        # What decides about dependencies.
        *("pipfile", "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", "go.mod"),
        *("cargo.toml", "gemfile", "composer.json", "bun.lockb", "conda-lock.yml", "environment.yml", "pdm.toml"),
        *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnp.cjs", "pip.conf", "pip.ini", ".pypirc", ".netrc", "uv.toml"),
        # What continuous integration runs.
        *(".travis.yml", "azure-pipelines.yml", "azure-pipelines.yaml", "jenkinsfile", "bitbucket-pipelines.yml"),
        *("appveyor.yml", ".appveyor.yml", ".cirrus.yml", ".drone.yml", ".woodpecker.yml", "codemagic.yaml"),
        *("cloudbuild.yaml", "buildspec.yml", "codecov.yml", ".codecov.yml", ".readthedocs.yaml", ".readthedocs.yml"),
        # What git and editors obey.
        *(".gitattributes", ".gitmodules", ".gitconfig", "codeowners", ".mailmap", ".editorconfig"),
        *(".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", ".lefthook.yml", ".envrc", ".env"),
        *(".python-version", ".tool-versions", "mise.toml", ".mise.toml", ".nvmrc", ".exrc", ".vimrc", ".nvim.lua"),
        # What this product and other agents obey.
        *("agentos.toml", "claude.md", "agents.md", "gemini.md", ".mcp.json", ".cursorrules", ".windsurfrules"),
    }
)
_PATTERNS = (
    *("*.pth", "*.egg-link", "*.lock", "*.lock.json", "requirements*.txt", "requirements*.in", "constraints*.txt"),
    *(
        ".gitlab-ci*.yml",
        ".gitlab-ci*.yaml",
        ".env.*",
        "dockerfile.*",
        "*.code-workspace",
        "*.mk",
        "*-requirements.txt",
    ),
    *("*.so", "*.so.*", "*.pyd", "*.pyc", "*.dll", "*.dylib", "*.exe", "*.whl", "*.egg", "*.jar", "*.node"),
)
_FOLDERS = frozenset(
    {
        *(".git", ".github", ".gitlab", ".gitea", ".forgejo", ".circleci", ".buildkite", ".woodpecker", ".travis"),
        *(".vscode", ".idea", ".devcontainer", ".husky", ".githooks", ".hg", ".svn", ".agentos", ".claude", ".cursor"),
        *(".venv", "venv", ".env", "site-packages", "dist-packages", "node_modules", "__pycache__", ".tox", ".nox"),
        *(".ssh", ".aws", ".gnupg", ".config", ".cargo", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".yarn"),
    }
)
_RECORDS = frozenset({"lld", "issues", "briefs", "answers", "lineage", "reports"})
_RUNNER_NAMES = frozenset({"pytest", "_pytest", "coverage", "pluggy", "pytest_cov", "pytest_timeout", "xdist"})
_REPORTER_PREFIX = "agentos_"
_RUNNER_PARTS = frozenset({"iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "colorama"})
"""What the runner imports; unlike those above, some are also names of folders without a module."""
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "spec", "specs", "__tests__", "__snapshots__"})
_TEST_NAMES = ("test_*.py", "*_test.py", "tests.py", "conftest.py", "*.test.*", "*.spec.*", "*_test.go", "*_spec.rb")


def is_sensitive(path: str) -> bool:
    """Tell whether a file is one that only a design may open."""
    names = [fold_name(name) for name in path.replace("\\", "/").split("/")]
    if not names or any(name in _FOLDERS or name.startswith((".git~", "git~")) for name in names):
        return True
    name = names[-1]
    if name in _NAMES or any(fnmatchcase(name, pattern) for pattern in _PATTERNS):
        return True
    return ("requirements" in names[:-1] and name.endswith((".txt", ".in"))) or _hides_module(names)


def is_record(path: str) -> bool:
    """Tell whether a file lies among the requests, designs, answers of people and reports of this product."""
    names = [fold_name(name) for name in path.replace("\\", "/").split("/")]
    return names[0] == "docs" and bool(names[1:]) and names[1] in _RECORDS


def is_test(path: str) -> bool:
    """Tell whether a file is a test or lies among tests."""
    names = [fold_name(name) for name in path.split("/")]
    if any(name in _TEST_FOLDERS for name in names[:-1]):
        return True
    return any(fnmatchcase(names[-1], pattern) for pattern in _TEST_NAMES)


def _hides_module(names: list[str]) -> bool:
    """Tell whether a file at the top, or in `src`, would be imported in place of the runner or the standard library."""
    inner = names[1:] if names[0] == "src" and len(names) > 1 else names
    first = inner[0].removesuffix(".py")
    if first in _RUNNER_NAMES or first.startswith(_REPORTER_PREFIX):
        return True
    is_module = inner[1:] == ["__init__.py"] or (len(inner) == 1 and inner[0].endswith(".py"))
    return is_module and (first in _RUNNER_PARTS or first in sys.stdlib_module_names)
