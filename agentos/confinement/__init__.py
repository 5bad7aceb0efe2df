"""Read, write and delete files below one folder, so that nothing that lies in it leads outside."""

from agentos.confinement.folder import Allowance, AllowanceExceeded, ConfinedFolder, PathRefused
from agentos.confinement.opening import Opener, choose_opener

__all__ = ["Allowance", "AllowanceExceeded", "ConfinedFolder", "Opener", "PathRefused", "choose_opener"]
