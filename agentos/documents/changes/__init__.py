"""Read the answer of an implementer: whole files, edits and deletions.

Begin with `contract.py`, which is what models are told; `parse.py` reads an answer,
`judgment.py` decides which changes a design allows, and `applying.py` makes them. In these
modules a row counts from 0 in the split text, and a line number counts from 1.
"""

from agentos.documents.changes.applying import Applied, apply_changes
from agentos.documents.changes.edits import EditRefused, apply_edits
from agentos.documents.changes.judgment import Judgment, Refusal, judge
from agentos.documents.changes.model import (
    Change,
    Changes,
    Contest,
    Deletion,
    Edit,
    EditedFile,
    Kept,
    Problem,
    UnnamedBlock,
    UnreachableLines,
    WholeFile,
)
from agentos.documents.changes.parse import parse_changes
from agentos.documents.changes.rendering import render_changes
from agentos.documents.changes.sensitivity import is_sensitive
from agentos.documents.changes.test_files import (
    PYTEST_MODULES,
    is_named_as_test,
    is_pytest_module,
    is_test,
)
from agentos.state.path_rules import check_path

__all__ = [
    "PYTEST_MODULES",
    "Applied",
    "Change",
    "Changes",
    "Contest",
    "Deletion",
    "Edit",
    "EditRefused",
    "EditedFile",
    "Judgment",
    "Kept",
    "Problem",
    "Refusal",
    "UnnamedBlock",
    "UnreachableLines",
    "WholeFile",
    "apply_changes",
    "apply_edits",
    "check_path",
    "is_named_as_test",
    "is_pytest_module",
    "is_sensitive",
    "is_test",
    "judge",
    "parse_changes",
    "render_changes",
]
