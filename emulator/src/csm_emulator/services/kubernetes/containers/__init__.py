"""What a client does with one container: exec, attach, logs, a shell."""
