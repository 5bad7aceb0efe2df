"""The parser is loaded when a document is read, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("command", ["lld-workflow", "issue-workflow", "agentos"])
def test_help_does_not_import_the_parser(command: str) -> None:
    program = Path(sys.executable).with_name(command)
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", program, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "argparse" in shown.stderr
    assert "markdown_it" not in shown.stderr


def test_reading_a_document_imports_it() -> None:
    code = (
        "import sys; from agentos.documents.markdown import scan;"
        " assert 'markdown_it' not in sys.modules; scan('# a');"
        " assert 'markdown_it' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
