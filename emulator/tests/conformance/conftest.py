"""The fixture of machines, which the emulator's own tests have too."""

from conftest import open_machine

__all__ = ["open_machine"]
