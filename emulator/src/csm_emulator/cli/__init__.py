"""The command ``csm-emulator``. Its commands reach a running emulator over the control API only."""
