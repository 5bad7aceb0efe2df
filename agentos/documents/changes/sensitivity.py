"""Recognize sensitive files and records by their path.

A sensitive file runs by itself, decides what is installed, or judges the work. A design
has to declare it; a reason alone is not enough. Requests, designs and answers of people
are records, and no answer may change them.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase

from agentos.state.path_rules import fold_name

_NAMES = frozenset(
    {
        # Python, pytest and coverage load these on their own.
        "conftest.py",
        "sitecustomize.py",
        "usercustomize.py",
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "tox.toml",
        "pytest.ini",
        ".pytest.ini",
        "pytest.toml",
        ".coveragerc",
        "noxfile.py",
        "mypy.ini",
        ".mypy.ini",
        "ruff.toml",
        ".ruff.toml",
        ".flake8",
        ".pylintrc",
        "manifest.in",
        "hatch.toml",
        # Builds and task runners run these.
        "makefile",
        "gnumakefile",
        "bsdmakefile",
        "justfile",
        ".justfile",
        "rakefile",
        "taskfile.yml",
        "dodo.py",
        "dockerfile",
        "containerfile",
        "docker-compose.yml",
        "compose.yml",
        "compose.yaml",
        "procfile",
        "build.rs",
        # These decide about dependencies.
        "pipfile",
        "package.json",
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "go.sum",
        "go.mod",
        "cargo.toml",
        "gemfile",
        "composer.json",
        "bun.lockb",
        "conda-lock.yml",
        "environment.yml",
        "pdm.toml",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pnp.cjs",
        "pip.conf",
        "pip.ini",
        ".pypirc",
        ".netrc",
        "uv.toml",
        # Continuous integration runs these.
        ".travis.yml",
        "azure-pipelines.yml",
        "azure-pipelines.yaml",
        "jenkinsfile",
        "bitbucket-pipelines.yml",
        "appveyor.yml",
        ".appveyor.yml",
        ".cirrus.yml",
        ".drone.yml",
        ".woodpecker.yml",
        "codemagic.yaml",
        "cloudbuild.yaml",
        "buildspec.yml",
        "codecov.yml",
        ".codecov.yml",
        ".readthedocs.yaml",
        ".readthedocs.yml",
        # Git, hooks and editors obey these.
        ".gitattributes",
        ".gitmodules",
        ".gitconfig",
        "codeowners",
        ".mailmap",
        ".editorconfig",
        ".pre-commit-config.yaml",
        ".pre-commit-hooks.yaml",
        "lefthook.yml",
        ".lefthook.yml",
        ".envrc",
        ".env",
        ".python-version",
        ".tool-versions",
        "mise.toml",
        ".mise.toml",
        ".nvmrc",
        ".exrc",
        ".vimrc",
        ".nvim.lua",
        # This product and other agents obey these.
        "agentos.toml",
        "claude.md",
        "agents.md",
        "gemini.md",
        ".mcp.json",
        ".cursorrules",
        ".windsurfrules",
    }
)
_PATTERNS = (
    "*.pth",
    "*.egg-link",
    "*.lock",
    "*.lock.json",
    "requirements*.txt",
    "requirements*.in",
    "constraints*.txt",
    ".gitlab-ci*.yml",
    ".gitlab-ci*.yaml",
    ".env.*",
    "dockerfile.*",
    "*.code-workspace",
    "*.mk",
    "*-requirements.txt",
    "*.so",
    "*.so.*",
    "*.pyd",
    "*.pyc",
    "*.dll",
    "*.dylib",
    "*.exe",
    "*.whl",
    "*.egg",
    "*.jar",
    "*.node",
)
_FOLDERS = frozenset(
    {
        ".git",
        ".github",
        ".gitlab",
        ".gitea",
        ".forgejo",
        ".circleci",
        ".buildkite",
        ".woodpecker",
        ".travis",
        ".vscode",
        ".idea",
        ".devcontainer",
        ".husky",
        ".githooks",
        ".hg",
        ".svn",
        ".agentos",
        ".claude",
        ".cursor",
        ".venv",
        "venv",
        ".env",
        "site-packages",
        "dist-packages",
        "node_modules",
        "__pycache__",
        ".tox",
        ".nox",
        ".ssh",
        ".aws",
        ".gnupg",
        ".config",
        ".cargo",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".yarn",
    }
)
_RECORDS = frozenset({"lld", "issues", "briefs", "answers", "lineage", "reports"})
_RUNNER_NAMES = frozenset(
    {"pytest", "_pytest", "coverage", "pluggy", "pytest_cov", "pytest_timeout", "xdist"}
)
_REPORTER_PREFIX = "agentos_"
_RUNNER_PARTS = frozenset(
    {"iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "colorama"}
)
"""Modules that the runner imports; a folder may have such a name without hiding one."""


def is_sensitive(path: str) -> bool:
    """Tell whether only a design may change a file."""
    names = _fold_names(path)
    for name in names:
        if name in _FOLDERS or name.startswith((".git~", "git~")):
            return True
    *folders, name = names
    if name in _NAMES or any(fnmatchcase(name, pattern) for pattern in _PATTERNS):
        return True
    if "requirements" in folders and name.endswith((".txt", ".in")):
        return True
    return _hides_module(names)


def is_record(path: str) -> bool:
    """Tell whether a file is a request, a design, an answer of a person or a report."""
    names = _fold_names(path)
    return len(names) > 1 and names[0] == "docs" and names[1] in _RECORDS


def _fold_names(path: str) -> list[str]:
    names = path.replace("\\", "/").split("/")
    return list(map(fold_name, names))


def _hides_module(names: list[str]) -> bool:
    """Tell whether Python would import a file instead of the runner or its own library.

    That happens at the top of the repository and in `src`.
    """
    if names[0] == "src" and len(names) > 1:
        names = names[1:]
    first = names[0].removesuffix(".py")
    if first in _RUNNER_NAMES or first.startswith(_REPORTER_PREFIX):
        return True
    is_package = names[1:] == ["__init__.py"]
    is_module = len(names) == 1 and names[0].endswith(".py")
    if not (is_package or is_module):
        return False
    return first in _RUNNER_PARTS or first in sys.stdlib_module_names
