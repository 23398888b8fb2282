"""An interpreter of playbooks that gives a session its log and its outcome; no module really runs on a host.

It is pure: callers pass in files, hosts and random numbers. Nothing here may import sessions or the machine.
"""
