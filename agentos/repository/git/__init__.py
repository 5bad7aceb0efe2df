"""Work on each item in a repository of its own, without ever losing a file.

Begin with `worktree` and `opening`; every git process is started in `run`. `delivery`
brings finished work into the user's repository.
"""
