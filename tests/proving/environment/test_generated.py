"""Files that a build would write are there while tests run, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentos.proving.environment import generated_files

HATCH = '[tool.hatch.build.hooks.vcs]\nversion-file = "{}"\n'
SCM = '[project]\nname = "shelf"\nversion = "1.2.3"\n[tool.setuptools_scm]\nwrite_to = "{}"\n'


@pytest.mark.parametrize(
    "settings", [HATCH, SCM, SCM.replace("write_to", "version_file")]
)
def test_the_file_that_holds_the_version_is_there_for_as_long_as_it_is_needed(
    tmp_path: Path, settings: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        settings.format("src/shelf/_version.py"), "utf-8"
    )
    with generated_files(tmp_path):
        names: dict[str, object] = {}
        exec((tmp_path / "src/shelf/_version.py").read_text("utf-8"), names)
        version = "1.2.3" if settings is not HATCH else "0.0.0"
        assert (names["__version__"], names["version"]) == (version, version)
        assert names["version_tuple"] == tuple(map(int, version.split(".")))
    assert not (tmp_path / "src/shelf/_version.py").exists()


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(HATCH.format("_version.py"), "utf-8")
    (tmp_path / "_version.py").write_text("version = '7'\n", "utf-8")
    with generated_files(tmp_path):
        assert (tmp_path / "_version.py").read_text("utf-8") == "version = '7'\n"
    assert (tmp_path / "_version.py").exists()


@pytest.mark.parametrize(
    "text",
    [HATCH.format("../out.py"), HATCH.format("link/out.py"), "[tool", "", "tool = 1\n"],
)
def test_nothing_is_written_elsewhere_or_without_being_asked_for(
    tmp_path: Path, text: str
) -> None:
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    repository.mkdir()
    outside.mkdir()
    (repository / "link").symlink_to(outside)
    (repository / "pyproject.toml").write_text(text, "utf-8")
    with generated_files(repository):
        assert sorted(path.name for path in repository.iterdir()) == [
            "link",
            "pyproject.toml",
        ]
        assert not list(outside.iterdir())
        assert not (tmp_path / "out.py").exists()
