"""Where the real services do what HPE's files do not say: the emulator follows the services.

Each row is a pattern over ``<service> <operation> → <status>: <what>`` and the reason. A row that nothing matches any
more fails the suite.
"""

from __future__ import annotations

KNOWN: dict[str, str] = {}
