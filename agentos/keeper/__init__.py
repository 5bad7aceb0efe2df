"""The process that stands between AgentOS and a command of a sandbox; it imports little, for each command has one."""
