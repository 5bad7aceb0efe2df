"""A loopback server that speaks the providers' wire formats, driven by a script; see
`script.py` for what it can say.

In this process: `with serve(script) as server: server.url, server.ledger`. In one of
its own:
`with ScenarioProcess(script, folder) as server`. From a shell: `python -m
tests.scenario SCRIPT.toml`.
"""

from tests.scenario.ledger import Entry, Ledger, Peak, read_ledger
from tests.scenario.process import ScenarioProcess
from tests.scenario.script import Script, ScriptError, load_script
from tests.scenario.server import Serving, serve

__all__ = [
    "Entry",
    "Ledger",
    "Peak",
    "ScenarioProcess",
    "Script",
    "ScriptError",
    "Serving",
    "load_script",
    "read_ledger",
    "serve",
]
