"""What AgentOS runs: the workflows, and the coordinator that runs many of them at once."""
