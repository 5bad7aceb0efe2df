"""An approved design becomes a branch with tested code."""
