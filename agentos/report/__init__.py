"""What a run leaves to read: the audit of each workflow, the summary of all."""
