"""The container ``inventory`` of a session's job: it writes the hosts that Ansible configures."""
