"""A project is built in the sandbox where its source tree is not enough, and nothing of
it runs elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from agentos.errors import BadInput, ItemError
from agentos.proving.environment import (
    Builder,
    Needs,
    install_project,
    nearest_tag,
    read_needs,
)
from agentos.proving.environment.building import MISSING, SITE
from agentos.proving.environment.reasons import read_build_system
from agentos.proving.environment.wheels import lay_out, read_wheel
from agentos.proving.run_tests import TestFolders as Folders
from agentos.proving.run_tests import run_in_sandbox
from agentos.proving.runners.runs import TestRun
from agentos.proving.sandbox import SANDBOXES, Sandbox, SandboxLimits
from agentos.repository.git.repository import find_repository
from tests.designs import git
from tests.proving.environment.test_environments import imports, offline_environ
from tests.proving.environment.test_needs import write
from tests.proving.environment.wheels import write_source, write_wheel
from tests.repository.git.ground import make_repository

pytestmark = pytest.mark.slow

SYSTEM = (
    '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
)
PROJECT = '[project]\nname = "shelf"\ndynamic = ["version", "dependencies"]\n'
BACKEND = """\
import os, pathlib, subprocess, sysconfig, zipfile

VERSION = os.environ["SETUPTOOLS_SCM_PRETEND_VERSION"]
INFO = f"shelf-{VERSION}.dist-info/"
METADATA = f"Metadata-Version: 2.1\\nName: shelf\\nVersion: {VERSION}\\nRequires-Dist: sortedcontainers\\n"
FILES = {
    INFO + "METADATA": METADATA,
    INFO + "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n",
    INFO + "RECORD": "",
    INFO + "entry_points.txt": "[console_scripts]\\nshelf = shelf:main\\n",
}


def build_wheel(folder, settings=None, metadata=None):
    files = dict(FILES)
    for path in pathlib.Path("shelf").glob("*.py"):
        files[str(path)] = path.read_bytes()
    add(files)
    name = f"shelf-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return name
"""
COMPILING = """\


def add(files):
    name = "_fast" + sysconfig.get_config_var("EXT_SUFFIX")
    include = sysconfig.get_paths()["include"]
    command = ["gcc", "-shared", "-fPIC", f"-I{include}", "shelf/fast.c", "-o", name]
    subprocess.run(command, check=True)
    files["shelf/" + name] = pathlib.Path(name).read_bytes()
"""
EXTENSION = """\
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, NULL};
PyMODINIT_FUNC PyInit__fast(void) {
    PyObject *made = PyModule_Create(&module);
    PyModule_AddIntConstant(made, "VALUE", 41);
    return made;
}
"""
GENERATING = """\


def add(files):
    files["shelf/_version.py"] = f"version = {VERSION!r}\\n"
"""
DAMAGING = """\
    pass


write_wheel = build_wheel


def build_wheel(folder, settings=None, metadata=None):
    name = write_wheel(folder)
    path = pathlib.Path(folder, name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("shelf/data.txt", METADATA * 50)
    data = bytearray(path.read_bytes())
    start = data.find(b"data.txt") + len("data.txt") + 9
    data[start : start + 30] = bytes(30)
    path.write_bytes(data)
    return name
"""
USES_COMMAND = """\
import importlib.metadata, subprocess
import shelf


def test_installed():
    assert importlib.metadata.version("shelf") == "{version}"
    assert subprocess.check_output(["shelf"], cwd="/", text=True).strip() == "{said}"
"""


def bubblewrap() -> Sandbox:
    return SANDBOXES["bubblewrap"]({"PATH": "/usr/local/bin:/usr/bin:/bin"})


class Bench:
    """A repository, and the product's way from its files to the run of its suite."""

    def __init__(self, tmp_path: Path, files: Mapping[str, str]) -> None:
        self.tmp_path = tmp_path
        self.repo = write(tmp_path / "repo", files)
        self.said: list[str] = []

    def builder(
        self, sandbox: Sandbox | None = None, limits: SandboxLimits | None = None
    ) -> Builder:
        return Builder(
            sandbox or bubblewrap(),
            self.tmp_path / "environments",
            self.said.append,
            limits,
            offline_environ(self.tmp_path),
        )

    def run(self, tag: str = "", builder: Builder | None = None) -> TestRun:
        return asyncio.run(self._run(builder or self.builder(), tag))

    async def _run(self, builder: Builder, tag: str) -> TestRun:
        repo = self.repo
        built = await builder.build(repo, tag)
        computed = built.declared if built else None
        needs = read_needs(repo, computed=computed)
        opened = await builder.open_environment(needs)
        metadata = self.tmp_path / "metadata"
        found = await install_project(
            builder, repo, needs.parts, metadata, opened.python, tag
        )
        setting = Folders(
            repo, self.tmp_path / "tests", metadata, parts=needs.parts, built=found
        )
        return await run_in_sandbox(bubblewrap(), opened, setting)

    @property
    def builds(self) -> list[str]:
        return [line for line in self.said if line.startswith("build: ")]


def outcomes(run: TestRun) -> list[str]:
    assert not run.problem, run.problem
    assert not run.collection_errors, run.collection_errors
    return [f"{test.outcome} {test.message}".strip() for test in run.tests]


def compiled_project() -> dict[str, str]:
    return {
        "pyproject.toml": SYSTEM
        + '[project]\nname = "shelf"\nversion = "3.1"\n[tool.setuptools]\next-modules = []\n',
        "backend.py": BACKEND + COMPILING,
        "shelf/__init__.py": "from shelf._fast import VALUE\n\n\ndef main():\n    print(VALUE)\n",
        "shelf/fast.c": EXTENSION,
        "tests/test_shelf.py": USES_COMMAND.format(version="3.1", said="41"),
    }


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no compiler")
def test_a_compiled_module_is_built_once_and_again_when_its_source_changes(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, compiled_project())
    before = sorted(bench.repo.rglob("*"))
    for _ in range(2):
        assert outcomes(bench.run()) == ["passed"]
    assert bench.builds == ["build: backend (it has compiled modules)"]
    assert sorted(bench.repo.rglob("*")) == before, "nothing is left in the worktree"
    module = bench.repo / "shelf/__init__.py"
    module.write_text(module.read_text().replace("print(VALUE)", "print(VALUE + 1)"))
    assert outcomes(bench.run()) != ["passed"], "the changed module is imported"
    module.write_text(module.read_text().replace("print(VALUE + 1)", "print(VALUE)"))
    assert outcomes(bench.run()) == ["passed"]
    source = bench.repo / "shelf/fast.c"
    source.write_text(EXTENSION.replace("41", "42"))
    (bench.repo / "tests/test_shelf.py").write_text(
        USES_COMMAND.format(version="3.1", said="42")
    )
    assert outcomes(bench.run()) == ["passed"]


MADE = "shelf/_made.txt"
READING = f"""\


def add(files):
    namespace = {{}}
    exec(open("shelf/_build_ffi.py").read(), namespace)
    files["{MADE}"] = namespace["VALUE"]
"""


def test_a_module_that_the_build_reads_is_built_again_when_it_changes(
    tmp_path: Path,
) -> None:
    bench = Bench(
        tmp_path,
        {
            "pyproject.toml": SYSTEM + PROJECT,
            "backend.py": BACKEND + READING,
            "shelf/__init__.py": "",
            "shelf/_build_ffi.py": "VALUE = 'old'\n",
        },
    )
    for value in ("old", "new"):
        (bench.repo / "shelf/_build_ffi.py").write_text(f"VALUE = {value!r}\n")
        built = asyncio.run(bench.builder().build(bench.repo))
        assert built
        assert (built.folder / MISSING / MADE).read_text() == value


def test_items_that_build_at_the_same_time_get_their_own_modules(
    tmp_path: Path,
) -> None:
    copying = "\n\ndef add(files):\n    files['copied/core.py'] = open('shelf/core.py').read()\n"
    files = {
        "pyproject.toml": SYSTEM + PROJECT,
        "backend.py": BACKEND + copying,
        "shelf/__init__.py": "",
    }
    builder = Bench(tmp_path, {}).builder()

    async def build(text: str) -> str:
        repo = write(tmp_path / text, {**files, "shelf/core.py": text})
        built = await builder.build(repo)
        assert built
        return (built.folder / SITE / "copied/core.py").read_text()

    async def build_both() -> None:
        first, second = await asyncio.gather(build("X = 1"), build("X = 2"))
        assert (first, second) == ("X = 1", "X = 2")

    asyncio.run(build_both())


def test_the_version_comes_from_the_nearest_tag_and_dependencies_from_the_build(
    tmp_path: Path,
) -> None:
    bench = Bench(
        tmp_path,
        {
            "pyproject.toml": SYSTEM
            + PROJECT
            + '[tool.setuptools_scm]\nversion_file = "shelf/_version.py"\n',
            "backend.py": BACKEND + GENERATING,
            "shelf/__init__.py": "from shelf._version import version\nimport sortedcontainers\n\n\ndef main():\n    print(version)\n",
            "tests/test_shelf.py": USES_COMMAND.format(version="1.4.0", said="1.4.0"),
        },
    )
    repository = make_repository(tmp_path / "tagged", {"a.txt": b"a"})
    head = git(repository, "rev-parse", "HEAD").strip()
    for name in ("docs-latest", "v1.4.0"):
        git(repository, "tag", name)
    tag = nearest_tag(find_repository(repository).git(), head)
    assert tag == "1.4.0"
    assert outcomes(bench.run(tag)) == ["passed"]
    assert bench.builds == ["build: backend (its version comes from tags)"]


@pytest.mark.parametrize(
    ("add", "reason"),
    [
        ("    raise OSError('no room')\n", "OSError: no room"),
        (
            "    print('shelf.c:3:1: fatal error: x.h: No such file')\n    raise SystemExit(1)\n",
            "shelf.c:3:1: fatal error: x.h: No such file",
        ),
        ("    while True: pass\n", "ran longer than 2.0 s and was ended"),
        (
            "    files['../../evil.py'] = ''\n",
            "its wheel has '../../evil.py', which leaves the repository",
        ),
        (
            "    files[INFO + 'entry_points.txt'] = '[pytest11]\\na = shelf\\n'\n",
            "its wheel has entry points pytest11 that it computes",
        ),
        ("    VERSION = 1 / 0\n", "ZeroDivisionError: division by zero"),
        (DAMAGING, "its wheel cannot be read (Corrupt input data)"),
    ],
)
def test_a_build_that_fails_is_one_line_and_the_sources_are_used(
    tmp_path: Path, add: str, reason: str
) -> None:
    bench = Bench(
        tmp_path,
        {
            "pyproject.toml": SYSTEM + PROJECT,
            "backend.py": f"{BACKEND}\n\ndef add(files):\n{add}",
            "shelf/__init__.py": "",
            "tests/test_shelf.py": "import shelf\n\n\ndef test_it():\n    pass\n",
        },
    )
    builder = bench.builder(limits=SandboxLimits(seconds=2.0))
    assert outcomes(bench.run(builder=builder)) == ["passed"]
    assert bench.builds == [
        "build: backend (its version is computed)",
        f"build: backend failed: {reason}; the project is imported from its source tree",
    ]


IMPORTING = {
    "shelf/__init__.py": "",
    "tests/test_shelf.py": "import shelf\n\n\ndef test_it():\n    pass\n",
}


@pytest.mark.parametrize(
    "add",
    [
        "    files['shelf-1.data/scripts/sub/x'] = '#!python'\n",
        "    files['shelf-1.data/scripts'] = ''\n",
        "    files['shelf-1.data/purelib'] = ''\n",
        "    files[INFO + 'METADATA'] += 'Requires-Dist: y; python_version ~= \"abc\"\\n'\n",
        "    files[INFO + 'METADATA'] = METADATA.encode() + b'Requires-Dist: caf\\xe9\\n'\n",
        "    files[INFO + 'METADATA'] = METADATA.encode() + b'Provides-Extra: caf\\xe9\\n'\n",
    ],
)
def test_what_is_odd_in_a_wheel_is_left_out(tmp_path: Path, add: str) -> None:
    bench = Bench(
        tmp_path,
        {
            **IMPORTING,
            "pyproject.toml": SYSTEM + PROJECT,
            "backend.py": f"{BACKEND}\n\ndef add(files):\n{add}",
        },
    )
    for _ in range(2):
        assert outcomes(bench.run()) == ["passed"]
    assert bench.builds == ["build: backend (its version is computed)"]


@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": '[project]\nname = "a\\u0000b"\nversion = "1"\n'},
        {"pyproject.toml": f'[project]\nname = "a"\nversion = "{"1" * 5000}"\n'},
        {
            "pyproject.toml": '[project]\nname = "a"\nversion = "1"\n'
            '[tool.hatch.version]\npath = "a\\u0000b"\n'
        },
        {"setup.py": "setup(name='a\\ud800', version='1')"},
        {"setup.py": "setup(name='a', entry_points={5: 'b\\ud800 = c:d'})"},
        {"setup.py": f"setup(name='a', python_requires='>={'1' * 5000}')"},
        {"pyproject.toml": SYSTEM.replace('["."]', '["\\u0000"]') + PROJECT},
    ],
)
def test_an_odd_project_is_imported_from_its_source_tree(
    tmp_path: Path, files: Mapping[str, str]
) -> None:
    bench = Bench(tmp_path, {**IMPORTING, **files})
    assert outcomes(bench.run()) == ["passed"]
    assert len(bench.builds) <= 1
    for line in bench.builds:
        assert line == (
            "build: backend failed: backend-path '\\x00' leads outside; the project is"
            " imported from its source tree"
        )


def test_a_marker_that_compares_nothing_is_left_to_pip(tmp_path: Path) -> None:
    needs = Needs(tmp_path, requirements=("y; python_version ~= 'abc'",))
    bench = Bench(tmp_path, {})
    with pytest.raises(ItemError, match="pip failed"):
        asyncio.run(bench.builder().open_environment(needs))


def test_requirements_that_cannot_be_installed_are_tried_once(tmp_path: Path) -> None:
    required = SYSTEM.replace("[]", '["nowhere>=99"]', 1)
    bench = Bench(
        tmp_path,
        {
            **IMPORTING,
            "pyproject.toml": required + PROJECT,
            "backend.py": BACKEND,
        },
    )
    builder = bench.builder()
    assert asyncio.run(builder.build(bench.repo)) is None
    tried = [line for line in bench.said if "installing" in line]
    (bench.repo / "shelf/__init__.py").write_text("VALUE = 1\n")
    assert asyncio.run(builder.build(bench.repo)) is None
    assert [line for line in bench.said if "installing" in line] == tried


def test_a_build_requirement_that_would_run_code_is_refused(tmp_path: Path) -> None:
    system = SYSTEM.replace("[]", '["evil @ https://example.test/evil.tar.gz"]', 1)
    bench = Bench(tmp_path, {"pyproject.toml": system + PROJECT, "backend.py": BACKEND})
    assert asyncio.run(bench.builder().build(bench.repo)) is None
    [line] = bench.builds[1:]
    assert line.startswith("build: backend failed: pyproject.toml, line 2: 'evil @")
    assert "\n" not in line


def test_without_a_sandbox_nothing_is_built(tmp_path: Path) -> None:
    flag = tmp_path / "ran"
    bench = Bench(
        tmp_path,
        {
            "pyproject.toml": SYSTEM + PROJECT,
            "backend.py": f"open({str(flag)!r}, 'w')\n",
        },
    )
    builder = bench.builder(SANDBOXES["plain"]({}))
    for _ in range(2):
        assert asyncio.run(builder.build(bench.repo)) is None
    assert bench.builds == [
        "build: backend is not run without a sandbox (its version is computed); the"
        " project is imported from its source tree"
    ]
    assert not flag.exists()


def test_a_build_sees_no_network_and_writes_nowhere_else(tmp_path: Path) -> None:
    flag = tmp_path / "ran"
    hostile = f"""\


def add(files):
    import socket
    found = []
    try:
        open({str(flag)!r}, "w")
        found.append("wrote")
    except OSError:
        pass
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=5)
    except OSError as error:
        found.append(error.strerror)
    raise RuntimeError(" ".join(found))
"""
    bench = Bench(
        tmp_path,
        {"pyproject.toml": SYSTEM + PROJECT, "backend.py": BACKEND + hostile},
    )
    assert asyncio.run(bench.builder().build(bench.repo)) is None
    assert "Network is unreachable;" in bench.builds[-1]
    assert not flag.exists()


def wheel_of(files: Mapping[str, str], kind: int = 0) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = kind << 16
            archive.writestr(entry, text)
    return data.getvalue()


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/evil.py", "a/../../evil.py", "a\\..\\evil.py"]
)
def test_a_wheel_that_leads_outside_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="its wheel has"):
        read_wheel(wheel_of({name: ""}))


def test_a_wheel_with_a_link_or_damage_is_refused() -> None:
    with pytest.raises(BadInput, match="not an ordinary file"):
        read_wheel(wheel_of({"link": "/etc/passwd"}, kind=0o120777))
    with pytest.raises(BadInput, match="cannot be read"):
        read_wheel(b"PK no wheel")


def test_of_a_wheel_only_what_the_worktree_lacks_is_used() -> None:
    names = (
        *("shelf/__init__.py", "shelf/a.py", "shelf/_fast.so", "shelf/a.cpython.so"),
        *("shelf/conftest.py", "shelf/tests/test_new.py", "evil.pth", "json.py"),
        *("pytest.py", "_top.so", "shelf-1.dist-info/METADATA", "lone/__init__.py"),
        *("shelf-1.data/scripts/run", "shelf-1.data/platlib/shelf/_more.so"),
        *("sitecustomize.py", "shelf-1.data/data/bin/python"),
    )
    tree = ("lib/shelf/__init__.py", "lib/shelf/a.py", "docs/a.py", "setup.py")
    layout = lay_out(dict.fromkeys(names, b""), tree)
    assert set(layout.missing) == {"lib/shelf/_fast.so", "lib/shelf/_more.so"}
    assert set(layout.site) == {
        "_top.so",
        "shelf-1.dist-info/METADATA",
        "lone/__init__.py",
    }
    assert set(layout.scripts) == {"run"}
    assert layout.places == ["lib"]


SOURCE_BACKEND = (
    BACKEND.replace("shelf", "tiny").replace("Requires-Dist: sortedcontainers\\n", "")
    + "\n\ndef add(files):\n    files['tiny.py'] = 'VALUE = 5\\n'\n"
)


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_package_without_a_wheel_is_built_in_the_sandbox(
    tmp_path: Path, is_locked: bool
) -> None:
    flag = tmp_path / "ran"
    attempt = f"try:\n    open({str(flag)!r}, 'w')\nexcept OSError:\n    pass\n"
    backend = attempt + SOURCE_BACKEND
    source = write_source(tmp_path / "wheels", "tiny", "1.0", backend)
    write_wheel(tmp_path / "wheels", "tiny-tool", "1.0", requires=("tiny",))
    needs = Needs(tmp_path, requirements=("tiny-tool",))
    if is_locked:
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        needs = Needs(tmp_path, locked=(f"tiny==1.0 --hash=sha256:{digest}",))
    bench = Bench(tmp_path, {})
    opened = asyncio.run(bench.builder().open_environment(needs))
    assert imports(opened, "tiny")
    [said] = [line for line in bench.said if "sandbox" in line]
    assert said.endswith("has no wheel; building it in the sandbox")
    assert not flag.exists()


def test_a_source_with_another_hash_is_not_built(tmp_path: Path) -> None:
    write_source(tmp_path / "wheels", "tiny", "1.0", SOURCE_BACKEND)
    needs = Needs(tmp_path, locked=(f"tiny==1.0 --hash=sha256:{'0' * 64}",))
    bench = Bench(tmp_path, {})
    with pytest.raises(ItemError, match="pip failed: No matching distribution"):
        asyncio.run(bench.builder().open_environment(needs))


def test_a_package_whose_build_fails_is_named_in_one_line(tmp_path: Path) -> None:
    write_source(tmp_path / "wheels", "tiny", "1.0", "raise OSError('broken')\n")
    needs = Needs(tmp_path, requirements=("tiny",))
    bench = Bench(tmp_path, {})
    with pytest.raises(ItemError) as caught:
        asyncio.run(bench.builder().open_environment(needs))
    text = str(caught.value)
    assert text.startswith(
        "environment: tiny has no wheel, and backend failed: OSError: broken; the log"
    )
    assert "\n" not in text


def system(backend: str, *requires: str) -> str:
    listed = ", ".join(f'"{one}"' for one in requires)
    return f'[build-system]\nrequires = [{listed}]\nbuild-backend = "{backend}"\n'


NAMED = '[project]\nname = "shelf"\nversion = "2.5"\n[project.scripts]\nshelf = "shelf:main"\n'
UNVERSIONED = NAMED.replace('version = "2.5"', 'dynamic = ["version"]')
MODULE = '__version__ = "2.5"\n\n\ndef main():\n    print("on it")\n'
IMPORTS_VERSION = (
    "from shelf._version import version\n\n\ndef main():\n    print('on it')\n"
)
TESTED = USES_COMMAND.format(version="2.5", said="on it")
PROJECTS: dict[str, tuple[dict[str, str], str]] = {
    "setuptools, pyproject.toml": (
        {
            "pyproject.toml": system("setuptools.build_meta", "setuptools>=61")
            + UNVERSIONED
            + '[tool.setuptools.dynamic]\nversion = {attr = "shelf.__version__"}\n',
            "shelf/__init__.py": MODULE,
            "tests/test_shelf.py": TESTED,
        },
        "",
    ),
    "setuptools, setup.py only": (
        {
            "setup.py": "from setuptools import setup\nsetup(name='shelf', version='2.5',"
            " py_modules=['shelf'], entry_points={'console_scripts': ['shelf = shelf:main']})\n",
            "shelf.py": MODULE,
            "test_shelf.py": TESTED,
        },
        "",
    ),
    "hatchling": (
        {
            "pyproject.toml": system("hatchling.build", "hatchling")
            + UNVERSIONED
            + '[tool.hatch.version]\npath = "shelf/__init__.py"\n',
            "shelf/__init__.py": MODULE,
            "tests/test_shelf.py": TESTED,
        },
        "",
    ),
    "flit": (
        {
            "pyproject.toml": system("flit_core.buildapi", "flit_core >=3.11,<5")
            + UNVERSIONED,
            "shelf.py": MODULE,
            "test_shelf.py": TESTED,
        },
        "",
    ),
    "poetry-core": (
        {
            "pyproject.toml": system("poetry.core.masonry.api", "poetry-core")
            + '[tool.poetry]\nname = "shelf"\nversion = "2.5"\n'
            '[tool.poetry.scripts]\nshelf = "shelf:main"\n',
            "shelf/__init__.py": MODULE,
            "tests/test_shelf.py": TESTED,
        },
        "",
    ),
    "pdm-backend, src layout": (
        {
            "pyproject.toml": system("pdm.backend", "pdm-backend") + NAMED,
            "src/shelf/__init__.py": MODULE,
            "tests/test_shelf.py": TESTED,
        },
        "",
    ),
    "setuptools-scm": (
        {
            "pyproject.toml": system("setuptools.build_meta", "setuptools-scm>=99")
            + UNVERSIONED
            + '[tool.setuptools_scm]\nversion_file = "src/shelf/_version.py"\n',
            "src/shelf/__init__.py": IMPORTS_VERSION,
            "tests/test_shelf.py": TESTED,
        },
        "setuptools.build_meta failed: environment: pip failed: No matching"
        " distribution found for setuptools-scm>=99",
    ),
    "hatch-vcs": (
        {
            "pyproject.toml": system("hatchling.build", "hatch-vcs>=99")
            + UNVERSIONED
            + '[tool.hatch.build.hooks.vcs]\nversion-file = "src/shelf/_version.py"\n',
            "src/shelf/__init__.py": IMPORTS_VERSION,
            "tests/test_shelf.py": TESTED,
        },
        "hatchling.build failed: environment: pip failed: No matching distribution"
        " found for hatch-vcs>=99",
    ),
    "no metadata": (
        {
            "shelf.py": MODULE,
            "test_shelf.py": "import shelf\n\n\ndef test_it():\n    shelf.main()\n",
        },
        "",
    ),
    "tests only": (
        {"tests/test_sum.py": "def test_sum():\n    assert sum([1, 2]) == 3\n"},
        "",
    ),
}


@pytest.mark.parametrize("kind", PROJECTS)
def test_every_kind_of_project_is_green_before_anything_is_changed(
    tmp_path: Path, kind: str
) -> None:
    files, failure = PROJECTS[kind]
    bench = Bench(tmp_path, files)
    assert outcomes(bench.run(tag="2.5")) == ["passed"]
    if not failure:
        assert bench.builds == []
        return
    started, failed = bench.builds
    assert started.endswith("(its version comes from tags)")
    assert failed.startswith(f"build: {failure}; correct the requirement")
    assert failed.endswith("; the project is imported from its source tree")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"setup.py": "setup(name='a', ext_modules=[x])"}, "it has compiled modules"),
        ({"setup.py": "setup(name='a', version='1')"}, ""),
        ({"setup.py": "setup(**settings)"}, "an argument of setup is computed"),
        (
            {"setup.py": "setup(name='a', install_requires=read())"},
            "install requires is computed",
        ),
        (
            {"setup.py": "setup(name='a', use_scm_version=True)"},
            "its version is computed",
        ),
        (
            {"pyproject.toml": system("mesonpy", "meson-python") + NAMED},
            "it has compiled modules",
        ),
        (
            {"pyproject.toml": NAMED + "[tool.hatch.build.hooks.custom]\npath = 'a'\n"},
            "it generates files",
        ),
        ({"pyproject.toml": "[tool.ruff]\n"}, None),
        ({}, None),
    ],
)
def test_the_files_tell_whether_a_build_is_needed(
    tmp_path: Path, files: Mapping[str, str], reason: str | None
) -> None:
    found = read_build_system(write(tmp_path, files))
    assert (found.reason if found else None) == reason
