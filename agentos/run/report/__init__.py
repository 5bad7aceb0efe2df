"""What a run leaves behind: the audit trail of each item and the summary of all."""
