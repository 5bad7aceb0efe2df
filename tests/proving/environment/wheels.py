"""Tiny wheels and source distributions that a test writes itself, so that pip needs no
network.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: tuple[str, ...] = (),
    body: str = "",
    more: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel with one module of the same name; `{info}` in the path of a further
    file is its metadata folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {line}\n" for line in requires)
    files = {
        f"{module}.py": body or f'VERSION = "{version}"\n',
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files |= {path.format(info=info): text for path, text in (more or {}).items()}
    files[f"{info}/RECORD"] = "".join(
        f"{path},,\n" for path in (*files, f"{info}/RECORD")
    )
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_inside, text in files.items():
            archive.writestr(name_inside, text)
    return path


def write_source(folder: Path, name: str, version: str, backend: str) -> Path:
    """Write a source distribution whose build backend is the given code."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": backend,
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    }
    path = folder / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name_inside, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{name_inside}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path
