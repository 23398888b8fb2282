"""What the server says about itself: one line an event, JSON or for people, with the id of what it belongs to.

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
from canton.domain.harmless import harmless

CUT = "(cut)"
_SECRET_NAME = re.compile(
    r"(?i)(^|[_.-])(password|passwd|passphrase|secret|token|authorization|cookie|credentials?|api[_-]?key|"
    r"private[_-]?key|device[_-]?code|code[_-]?verifier)$"
)
# In characters, of one value. A client chooses its path, and an issuer the names of its people.
LONGEST = 4096
LONGEST_TRACEBACK = 65_536
# In a text: what a token looks like, and whatever stands behind the name of a secret. Clients choose some of the texts:
# every pattern must take time in proportion to the text, so none may start again within what it has run over.
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
            foreign_pre_chain=_before(),
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_rendering(console)],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # The server says who called what itself, with the id of the request and without the query.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = name != "uvicorn.access"
    # It tells of itself whenever the schema's version is looked at.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    structlog.configure(
        processors=[*_before(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def carrying(**ids: str) -> AbstractContextManager[None]:
    """Every line logged inside, by this task and by threads it starts, has these."""
    return bound_contextvars(**ids)


def cut_secrets(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Take whatever looks like a token, password or secret out of every value, however deep."""
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
    longest = LONGEST_TRACEBACK if name == "exception" else LONGEST
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text) - longest} more characters)"
    text = hide_addresses(text)
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text


def _disarm(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Whoever names a path or an account cannot write on the operator's terminal; JSON escapes by itself."""
    return {name: harmless(str(value)) for name, value in event.items()}


def _before() -> list[structlog.typing.Processor]:
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
