"""Requests for one container: exec, attach and logs, and the shell that exec runs."""
