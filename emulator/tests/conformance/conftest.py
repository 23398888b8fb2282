"""The machines of the emulator's own tests."""

from conftest import open_machine

__all__ = ["open_machine"]
