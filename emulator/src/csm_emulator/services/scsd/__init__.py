"""SCSD configures controllers: NTP, syslog, SSH keys, passwords, certificates, and the TPMs of nodes."""
