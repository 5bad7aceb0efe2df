"""Providers of other packages: CONTRIBUTING's recipe works as it stands there, and a
broken package harms nobody who does not use it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stand_in import record_answers
from tests.support import ROOT, Finished, World

MOST_LINES = 40
ANSWER = """\
#!{python}
# A stand-in for a model: it knows a good design of each issue and an approval of it.
import re
import sys
from pathlib import Path

prompt = sys.stdin.read()
item = re.search(r"\\(id (\\d+)\\)", prompt)[1]
name = "lld-draft-1.md"
if "You review the" in prompt:
    name = "lld-review-1.json"
print(Path({folder!r}, item, name).read_text("utf-8"))
"""
IMPORTS = """\
from agentos.errors import FailureCause, ProviderError
from agentos.gateway.providers import Completion, Provider, ProviderRecord

"""
ECHO = """\
class Echo(Provider):
    def __init__(self, model):
        self.model = model

    async def complete(self, request, credential):
        return Completion("nothing", "echo")

"""
KEYED = """\
class Acme(Provider):
    needs_key = True

    def __init__(self, model):
        self.model = model

    async def complete(self, request, credential):
        message = f"asked with {credential.secret} at {credential.base_url}"
        raise ProviderError(message, cause=FailureCause.BAD_REQUEST)

    async def check(self, credential):
        return f"hello from {credential.base_url}"

RECORD = ProviderRecord(
    name="acme",
    factory="acme_models:Acme",
    key_variable="ACME_API_KEY",
    base_url_variable="ACME_BASE_URL",
    key_shape=("acme.", "[a-z0-9]{10,}"),
)
"""
KEY = "acme.0a1b2c3d4e5f6a7b"


def read_block(language: str) -> str:
    """Return the only block of a language in the recipe for providers."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    _, _, recipe = text.partition("## A provider in a package of its own\n")
    recipe = recipe.partition("\n## ")[0]
    (block,) = re.findall(
        rf"^```{language}\n(.*?)^```$", recipe, re.DOTALL | re.MULTILINE
    )
    return str(block)


def offer(world: World, name: str, source: str, target: str = "RECORD") -> World:
    """Put a module and the metadata of its package on the path of a world's commands, as
    an installer does.
    """
    folder = world.repo.parent / "packages"
    module = f"{name}_models"
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / f"{module}.py").write_text(IMPORTS + source, "utf-8")
    (metadata / "METADATA").write_text(f"Name: {module}\nVersion: 1.0\n", "utf-8")
    points = f"[agentos.providers]\n{name} = {module}:{target}\n"
    (metadata / "entry_points.txt").write_text(points, "utf-8")
    return with_path(world, folder)


def with_path(world: World, folder: Path) -> World:
    return replace(world, environ={**world.environ, "PYTHONPATH": str(folder)})


def refused(ended: Finished, *words: str) -> None:
    """See that a command ended before anything ran, in one line with these words."""
    assert ended.code == 2, ended.text
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert all(word in line for word in words), line


def ask(world: World, model: str, *flags: str) -> Finished:
    return world.run(
        "lld-workflow", "--all", "--drafter", model, "--reviewer", model, *flags
    )


def test_the_recipe_for_a_provider_works_as_it_is_written(
    world: World, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    source = read_block("python")
    assert len(source.splitlines()) <= MOST_LINES
    (package / "agentos_pipe.py").write_text(source, "utf-8")
    (package / "pyproject.toml").write_text(read_block("toml"), "utf-8")
    installed = tmp_path / "installed"
    install = (sys.executable, "-m", "pip", "install", "--no-index", "--no-deps")
    subprocess.run(
        [*install, "--no-build-isolation", "--target", installed, package],
        check=True,
        capture_output=True,
    )
    answers = tmp_path / "answers"
    record_answers(world.repo, answers)
    program = world.repo / "answer"
    program.write_text(
        ANSWER.format(python=sys.executable, folder=str(answers)), "utf-8"
    )
    program.chmod(0o755)
    *_, command = read_block("bash").strip().splitlines()

    ended = with_path(world, installed).run(*command.split())

    assert ended.code == 0, ended.text
    assert "3 approved" in ended.stdout
    for number in (1, 2, 3):
        design = world.repo / f"docs/lld/active/LLD-00{number}.md"
        assert f"# {number} - Feature" in design.read_text("utf-8")


def test_the_recipe_is_clean_and_typed(tmp_path: Path) -> None:
    module = tmp_path / "agentos_pipe.py"
    module.write_text(read_block("python"), "utf-8")
    subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, module],
        check=True,
        cwd=ROOT,
    )


def test_a_provider_that_fails_fails_its_items_in_words(
    make_world: Callable[..., World],
) -> None:
    source = ECHO.replace('return Completion("nothing", "echo")', "return 1 // 0")
    record = 'RECORD = ProviderRecord(name="echo", factory="echo_models:Echo")\n'
    ended = ask(offer(make_world(1), "echo", source + record), "echo:m")
    assert ended.code == 1, ended.text
    assert "the provider echo failed with ZeroDivisionError" in ended.stderr
    assert "echo_models.py, line " in ended.stderr
    assert "Traceback" not in ended.text


def test_an_error_is_told_with_the_last_line_of_the_package(
    make_world: Callable[..., World],
) -> None:
    failing = "import json; return json.loads('{')"
    source = ECHO.replace('return Completion("nothing", "echo")', failing)
    record = 'RECORD = ProviderRecord(name="echo", factory="echo_models:Echo")\n'
    ended = ask(offer(make_world(1), "echo", source + record), "echo:m")
    assert ended.code == 1, ended.text
    written = IMPORTS + source
    line = written[: written.index(failing)].count("\n") + 1
    assert f"echo_models.py, line {line})" in ended.stderr


def test_an_answer_must_be_a_completion(make_world: Callable[..., World]) -> None:
    source = ECHO.replace('Completion("nothing", "echo")', '"nothing"')
    record = 'RECORD = ProviderRecord(name="echo", factory="echo_models:Echo")\n'
    ended = ask(offer(make_world(1), "echo", source + record), "echo:m")
    assert ended.code == 1, ended.text
    assert "complete returned a str, not a Completion" in ended.stderr


BROKEN = {
    "import error": ("import no_such_module\n", "ModuleNotFoundError"),
    "not a record": ("RECORD = {'name': 'echo'}\n", "it is not a ProviderRecord"),
    "no such record": ("", "AttributeError"),
    "ends the process": ("raise SystemExit(0)\n", "SystemExit"),
    "name of a built-in": (
        'RECORD = ProviderRecord(name="openai", factory="echo_models:Echo")\n',
        "'openai' is a built-in provider",
    ),
    "another name": (
        'RECORD = ProviderRecord(name="ohce", factory="echo_models:Echo")\n',
        "its record is named 'ohce'",
    ),
    "unknown fact": (
        'RECORD = ProviderRecord(name="echo", factory="m:f", prize="1")\n',
        "unexpected keyword argument 'prize'",
    ),
    "no factory": (
        'RECORD = ProviderRecord(name="echo", factory="echo_models")\n',
        "must be module:name",
    ),
    "bad shape": (
        'RECORD = ProviderRecord(name="echo", factory="m:f", key_shape=("e-", "["))\n',
        "unterminated character set",
    ),
    "factory is missing": (
        'RECORD = ProviderRecord(name="echo", factory="echo_models:Ohce")\n',
        "no attribute 'Ohce'",
    ),
    "complete is missing": (
        "class Mute(Provider):\n    def __init__(self, model):\n        pass\n"
        'RECORD = ProviderRecord(name="echo", factory="echo_models:Mute")\n',
        "abstract method",
    ),
    "wants keys that it cannot have": (
        "class Keyed(Echo):\n    needs_key = True\n"
        'RECORD = ProviderRecord(name="echo", factory="echo_models:Keyed")\n',
        "its record has no key_variable",
    ),
    "makes nothing": (
        "def make(model):\n    pass\n"
        'RECORD = ProviderRecord(name="echo", factory="echo_models:make")\n',
        "'NoneType' object has no attribute",
    ),
    "takes no model": (
        "class Short(Echo):\n    def __init__(self):\n        pass\n"
        'RECORD = ProviderRecord(name="echo", factory="echo_models:Short")\n',
        "positional argument",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_is_named_in_one_line_and_harms_no_other_run(
    make_world: Callable[..., World], case: str
) -> None:
    source, words = BROKEN[case]
    world = offer(make_world(1), "echo", ECHO + source)
    refused(ask(world, "echo:m"), "provider 'echo' cannot be used", words)
    refused(ask(world, "echo:m", "--dry-run"), "provider 'echo' cannot be used", words)
    assert ask(world, "offline", "--dry-run").code == 0
    # Also where a key, a price and an address for it lie beside others.
    world.home.mkdir(mode=0o700, exist_ok=True)
    keys = world.home / "keys.toml"
    keys.write_text(f'[[key]]\nprovider = "echo"\nkey = "{KEY}"\n', "utf-8")
    keys.chmod(0o600)
    url = "http://127.0.0.1:9"
    (world.home / "config.toml").write_text(f'base_url = "echo={url}"\n', "utf-8")
    other = {"OPENAI_BASE_URL": url}
    ended = world.run(
        "lld-workflow",
        *("--all", "--dry-run", "--drafter", "openai:m", "--reviewer", "openai:m"),
        *("--price", "openai:*=0/0", "--price", "echo:*=0/0"),
        environ=other,
    )
    assert ended.code == 0, ended.text


def test_two_packages_with_one_name_are_told_apart(world: World) -> None:
    record = 'RECORD = ProviderRecord(name="echo", factory="echo_models:Echo")\n'
    world = offer(world, "echo", ECHO + record)
    other = world.repo.parent / "packages" / "other-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Name: other\nVersion: 2.0\n", "utf-8")
    points = "[agentos.providers]\necho = other:RECORD\n"
    (other / "entry_points.txt").write_text(points, "utf-8")
    refused(ask(world, "echo:m"), "two packages offer", "other:RECORD")


def test_installed_names_are_listed_with_the_others(world: World) -> None:
    world = offer(world, "acme", KEYED)
    refused(ask(world, "acne:m"), "unknown provider 'acne'", "openai, acme")


def test_a_provider_with_keys_is_used_like_the_built_in_ones(
    make_world: Callable[..., World],
) -> None:
    world = offer(make_world(1), "acme", KEYED)
    price = ("--price", "acme:*=0/0")
    refused(
        ask(world, "acme:m", *price), "no acme key", "ACME_API_KEY", "keys add acme"
    )
    environ = {"ACME_API_KEY": KEY}
    given = replace(world, environ={**world.environ, **environ})
    refused(ask(given, "acme:m"), "its price is not known", "--price acme:m=IN/OUT")
    url = "http://127.0.0.1:9/models"
    (world.repo / "agentos.toml").write_text(f'base_url = "acme={url}"\n', "utf-8")
    given.run("agentos", "config", "trust")
    ended = ask(given, "acme:m", *price)
    assert f"at {url}" in ended.stderr, ended.text
    assert KEY not in ended.text
    listed = given.run("agentos", "keys", "list")
    assert "ACME_API_KEY" in listed.stdout
    checked = given.run("agentos", "keys", "check", environ={"ACME_BASE_URL": url})
    assert (checked.code, f"ok: hello from {url}" in checked.stdout) == (0, True)


def test_a_key_is_added_for_a_provider_of_another_package(world: World) -> None:
    world = offer(world, "acme", KEYED)
    done = subprocess.run(
        [Path(sys.executable).with_name("agentos"), "keys", "add", "acme"],
        input=KEY,
        env=dict(world.environ),
        cwd=world.repo,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("Added acme-")
    assert "acme-" in world.run("agentos", "keys", "list").stdout


def test_a_keyless_provider_takes_no_key(world: World) -> None:
    record = 'RECORD = ProviderRecord(name="echo", factory="echo_models:Echo")\n'
    world = offer(world, "echo", ECHO + record)
    refused(world.run("agentos", "keys", "add", "echo"), "echo takes no key")


def test_keys_are_listed_beside_a_broken_package(world: World) -> None:
    world = offer(world, "echo", "import no_such_module\n")
    listed = world.run("agentos", "keys", "list", environ={"GEMINI_API_KEY": "x"})
    assert (listed.code, "GEMINI_API_KEY" in listed.stdout) == (0, True)
    assert "warning: provider 'echo' cannot be used" in listed.stderr


def test_packages_are_not_looked_at_for_a_built_in_provider(world: World) -> None:
    source = 'raise RuntimeError("imported")\n'
    world = offer(world, "offline", source)
    program = (
        "import sys; from agentos.gateway.providers import create_provider,"
        " parse_model_spec; create_provider(parse_model_spec('offline'));"
        " assert 'importlib.metadata' not in sys.modules"
    )
    ended = world.run(sys.executable, "-c", program)
    assert ended.code == 0, ended.text
    assert ask(world, "offline").code == 0
