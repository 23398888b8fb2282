"""Ansible as far as a session's log and outcome need it: playbooks are read and followed, nothing is carried out.

Pure: what it knows of repositories, hosts and chance it is given. Nothing here knows of sessions or of the machine.
"""
