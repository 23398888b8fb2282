"""Log lines in the format of CFS's programs."""

from __future__ import annotations

from datetime import UTC, datetime

_PROCESS, _THREAD = 1, 140_230_147_348_288
VERSION = "1.29.0"


def line(moment: float, logger: str, message: str, level: str = "INFO") -> tuple[float, str]:
    """The time and text of a log line, for ``say``."""
    instant = datetime.fromtimestamp(moment, UTC)
    when = f"{instant:%Y-%m-%d %H:%M:%S},{instant.microsecond // 1000:03}"
    return moment, f"{when:<15} - {_PROCESS} - {_THREAD} - {level:<7} - {logger} - {message}"
