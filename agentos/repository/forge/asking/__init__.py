"""Ask a reviewer's questions on a forge exactly once, and find the answers there."""
