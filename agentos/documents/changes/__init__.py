"""What an implementer answers: whole files, edits and deletions, and which of them a design allows."""

from agentos.documents.changes.edits import EditRefused, apply_edits
from agentos.documents.changes.judgement import Judgement, Refusal, judge
from agentos.documents.changes.model import (
    Change,
    Changes,
    Deletion,
    Edit,
    EditedFile,
    Problem,
    UnnamedBlock,
    WholeFile,
)
from agentos.documents.changes.parse import parse_changes
from agentos.documents.changes.paths import check_path
from agentos.documents.changes.rendering import render_changes
from agentos.documents.changes.sensitivity import is_sensitive, is_test

__all__ = [
    "Change",
    "Changes",
    "Deletion",
    "Edit",
    "EditRefused",
    "EditedFile",
    "Judgement",
    "Problem",
    "Refusal",
    "UnnamedBlock",
    "WholeFile",
    "apply_edits",
    "check_path",
    "is_sensitive",
    "is_test",
    "judge",
    "parse_changes",
    "render_changes",
]
