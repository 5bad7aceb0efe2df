"""Answer what a model asks to see of a repository, from one snapshot and read-only.

    snapshot = record_snapshot(repository, own_documents)
    looker = Looker(repository, snapshot)
    lines = looks_in(answer_of_the_model)
    if lines is not None:
        shown = looker.answer(lines, turn=1).text

What is shown is hostile text: the caller delimits it like all material.
"""

from agentos.repository.look.asking import VERBS, looks_in
from agentos.repository.look.looker import LookAnswer, Looker, LookLimits
from agentos.repository.look.passages import Passages
from agentos.repository.look.recorded import (
    RecordedFiles,
    open_commit,
    open_snapshot,
)
from agentos.repository.look.snapshot import (
    FileRecord,
    Snapshot,
    record_snapshot,
    snapshot_of_commit,
)

__all__ = [
    "VERBS",
    "FileRecord",
    "LookAnswer",
    "LookLimits",
    "Looker",
    "Passages",
    "RecordedFiles",
    "Snapshot",
    "looks_in",
    "open_commit",
    "open_snapshot",
    "record_snapshot",
    "snapshot_of_commit",
]
