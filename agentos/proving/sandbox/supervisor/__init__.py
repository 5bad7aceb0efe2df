"""The sandbox supervisor: the process between AgentOS and a command. It imports little,
because every command starts one.
"""
