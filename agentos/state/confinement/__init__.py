"""Read, write and delete files below one folder, whose contents are not trusted and
cannot lead outside.
"""

from agentos.state.confinement.folder import (
    ConfinedFolder,
    PathRefused,
    WriteQuota,
    WriteQuotaExceeded,
)
from agentos.state.confinement.opening import Opener, choose_opener

__all__ = [
    "ConfinedFolder",
    "Opener",
    "PathRefused",
    "WriteQuota",
    "WriteQuotaExceeded",
    "choose_opener",
]
