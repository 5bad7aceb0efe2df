"""What a drafter has to know of a repository: a map of its code, and a selection with a reason for each entry."""

from agentos.codemap.material import Material, select_material
from agentos.codemap.python import python_map

__all__ = ["Material", "python_map", "select_material"]
