"""The control API of a running emulator: the real state, faults, the clock. No service uses it."""
