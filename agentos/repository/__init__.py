"""The repository that items are about: its files, its git history and its GitHub.

`context` selects what prompts show of it, `git` keeps worktrees, snapshots and
branches, and `forge` files issues and opens pull requests. `publish` puts finished
documents in place, `paths` names them, and `completion` tells which items are done.

Workflows, workers, proving and the layers above import this package; it imports
`documents` and `state`. Begin with `publish`, then `git/worktree`.
"""
