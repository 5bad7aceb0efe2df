"""How a workflow asks a model: the worker's client, and the keeper of keys, journal and limits behind it."""
