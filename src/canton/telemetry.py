"""The server's log: one line per event, as JSON or for people, with the id of the request or operation.

Everything goes through the standard library's loggers, Canton's own lines and those of its libraries alike, and
every line passes ``cut_secrets`` last.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import IO, Any

import structlog
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.typing import EventDict, WrappedLogger

from canton.domain.database_address import hide_addresses
from canton.domain.terminal_text import harmless

CUT = "(cut)"
_SECRET_NAME = re.compile(
    r"(?i)(^|[_.-])(password|passwd|passphrase|secret|token|authorization|cookie|credentials?|api[_-]?key|"
    r"private[_-]?key|device[_-]?code|code[_-]?verifier)$"
)
# In characters, of one value. A client chooses its path, and an issuer the names of its people.
MAX_LENGTH = 4096
MAX_LENGTH_TRACEBACK = 65_536
# Patterns of secrets in a text: tokens, and values after the name of a secret. Clients choose some of the texts:
# every pattern must run in linear time, so no match may begin again inside text that the pattern has passed.
_SECRET_TEXT = (
    (re.compile(r"(?i)\b(bearer|basic|negotiate)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {CUT}"),
    (re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*){1,4}"), CUT),
    (re.compile(r"\bcanton_[A-Za-z0-9_-]{16,}"), CUT),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://[^\s:/@]*):[^\s/@]+@"), rf"\1:{CUT}@"),
    (
        re.compile(
            r"(?i)((?:password|passwd|passphrase|secret|token|authorization|cookie|api[_-]?key|device_code|"
            r"code_verifier)[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)"
        ),
        rf"\1{CUT}",
    ),
)


def set_up(form: str, level: str, stream: IO[str] | None = None) -> None:
    """Send every log line of this process to ``stream``; ``form`` is json, console or auto."""
    target = stream or sys.stderr
    console = form == "console" or (form == "auto" and target.isatty())
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_shared_processors(),
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(console)],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Canton logs requests itself, with the id of the request and without the query.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = name != "uvicorn.access"
    # Alembic logs on every check of the schema's version.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    structlog.configure(
        processors=[*_shared_processors(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def carrying(**ids: str) -> AbstractContextManager[None]:
    """Add these ids to every line that is logged inside, by this task and the threads that it starts."""
    return bound_contextvars(**ids)


def cut_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Remove what looks like a token, password or secret from every value, at any depth."""
    return {str(name): _cut(value, str(name)) for name, value in event.items()}


def _cut(value: Any, name: str = "") -> Any:
    if name and _SECRET_NAME.search(name) and value not in (None, "", False, True):
        return CUT
    if isinstance(value, Mapping):
        return {str(key): _cut(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_cut(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    text = (
        value if isinstance(value, str) else value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    )
    limit = MAX_LENGTH_TRACEBACK if name == "exception" else MAX_LENGTH
    if len(text) > limit:
        text = f"{text[:limit]}… ({len(text) - limit} more characters)"
    text = hide_addresses(text)
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text


def _disarm(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Escape control characters: a client's text must not change the operator's terminal. JSON escapes them anyway."""
    return {name: harmless(str(value)) for name, value in event.items()}


def _shared_processors() -> list[structlog.typing.Processor]:
    return [
        merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]


def _rendering(console: bool) -> list[structlog.typing.Processor]:
    if console:
        plain = structlog.dev.ConsoleRenderer(
            colors=False, timestamp_key="at", exception_formatter=structlog.dev.plain_traceback
        )
        return [structlog.processors.format_exc_info, cut_secrets, _disarm, plain]
    return [
        structlog.processors.format_exc_info,
        cut_secrets,
        structlog.processors.JSONRenderer(sort_keys=False, ensure_ascii=False, default=str),
    ]
