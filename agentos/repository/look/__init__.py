"""Answer what a model asks to see of a repository, from one snapshot and read-only."""

from agentos.repository.look.asking import Look, Problem, parse_looks
from agentos.repository.look.looker import LookAnswer, Looker, LookLimits
from agentos.repository.look.snapshot import FileRecord, Snapshot, take_snapshot

__all__ = [
    "FileRecord",
    "Look",
    "LookAnswer",
    "LookLimits",
    "Looker",
    "Problem",
    "Snapshot",
    "parse_looks",
    "take_snapshot",
]
