"""Where the real services do what HPE's files do not say: the emulator follows the services."""

from __future__ import annotations

from collections.abc import Mapping

KNOWN: Mapping[str, Mapping[str, str]] = {}
SERVER_ERRORS: Mapping[str, Mapping[str, str]] = {}
