"""Open a pull request for an implemented item, once however often it is asked for.

Nothing is recorded here. The open pull request of the item's branch is looked for on
the forge before one is created, and the forge refuses a second one. So a kill at any
moment leaves nothing that a rerun could get wrong.
"""
