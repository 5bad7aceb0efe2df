"""Ask models: the worker's client, and the gateway that holds keys, journal and limits.

The run process owns the gateway (`access.py`, `server.py`) and answers its workers,
which ask through `client.py` and never see a key. `keys` leases keys within all limits,
`journal` stores paid answers, `providers` calls the models. Everything above imports
this package: settings, workflows, workers, the backlog, runs and the command line. Begin
reading at `server.py`.
"""
