"""Work on an item in a git worktree of its own, where nothing that was written can be lost."""
