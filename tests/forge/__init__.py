"""A GitHub on the loopback interface: its shapes, its limits, its faults, and a ledger
of what it was asked.
"""

from tests.forge.hub import Hub, Repo, Seen, serve
from tests.forge.trouble import Cut, Expire, Fault, Hold, Limit, Slow, Status

__all__ = [
    "Cut",
    "Expire",
    "Fault",
    "Hold",
    "Hub",
    "Limit",
    "Repo",
    "Seen",
    "Slow",
    "Status",
    "serve",
]
