"""The command ``csm-emulator``. It talks to a running emulator over the control API only."""
