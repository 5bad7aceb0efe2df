"""Prove that code works: environments, sandboxed test runs, and what they show.

`environment` builds the Python that tests need, `sandbox` runs commands under limits,
`runners` and `inspection` run the tests and check them for cheating, and `trial_merge`
tests finished items together. Settings and everything above may import it; it never
imports the gateway. Start reading at `run_tests`, then `judging`.
"""
