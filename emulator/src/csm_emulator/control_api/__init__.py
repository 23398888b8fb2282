"""The private API of a running emulator: the real state, faults, the clock. For tests and people; no service uses it."""
