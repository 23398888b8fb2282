"""Write and parse XML."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree
from xml.sax.saxutils import escape

MEDIA = "application/xml"
NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
LARGEST = 2 << 20
"""Bytes of XML: enough for a thousand keys to delete, or for ten thousand parts."""
DEEPEST = 16
"""Levels of nested elements; no S3 request has more than five."""


class XmlError(Exception):
    """The body is not valid XML, or larger or deeper than any S3 request."""


class _DepthLimitedBuilder(ElementTree.TreeBuilder):
    """Limits the nesting: half a million nested elements would block all clients for seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        self._depth += 1
        if self._depth > DEEPEST:
            raise XmlError
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ElementTree.Element:
        self._depth -= 1
        return super().end(tag)


def leaf(name: str, value: object = "") -> str:
    return f"<{name}>{_text(str(value))}</{name}>"


def element(name: str, *children: str) -> str:
    """``children`` are markup: they are not escaped."""
    return f"<{name}>{''.join(children)}</{name}>"


def document(name: str, *children: str, namespace: str = NAMESPACE) -> bytes:
    space = f' xmlns="{namespace}"' if namespace else ""
    return f"{_DECLARATION}<{name}{space}>{''.join(children)}</{name}>".encode()


def _text(value: str) -> str:
    """Escape the text. Keys may hold characters that XML cannot; clients avoid that with ``encoding-type=url``."""
    value = _SURROGATES.sub("\ufffd", escape(value, {'"': "&quot;", "\r": "&#13;"}))
    return _CONTROLS.sub(lambda match: f"&#x{ord(match[0]):x};", value)


def parse(body: bytes, name: str) -> ElementTree.Element:
    """The root element, which must have this name; namespaces are dropped. Raises ``XmlError``."""
    if len(body) > LARGEST or b"<!" in body or b"\0" in body:
        # No S3 request has a document type (and entities that expand), comments, or UTF-16 (which would hide them).
        raise XmlError
    try:
        parser = ElementTree.XMLParser(target=_DepthLimitedBuilder())  # noqa: S314 (no entities come this far)
        root = ElementTree.fromstring(body, parser)  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise XmlError from error
    for node in root.iter():
        node.tag = str(node.tag).rpartition("}")[2]
    if root.tag != name:
        raise XmlError
    return root


def child_text(node: ElementTree.Element, name: str, default: str = "") -> str:
    """The text of the child element; ``default`` when there is no such child."""
    child = node.find(name)
    return default if child is None else (child.text or "").strip()


def timestamp(moment: float) -> str:
    """Format a time as ``2026-11-16T03:02:35.123Z``."""
    moment_utc = datetime.fromtimestamp(moment, UTC)
    return f"{moment_utc:%Y-%m-%dT%H:%M:%S}.{moment_utc.microsecond // 1000:03}Z"
