"""Workers as processes of this machine, forked from a server that has imported
everything. Begin with `launcher.py`.
"""
