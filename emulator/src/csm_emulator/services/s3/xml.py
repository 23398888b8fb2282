"""XML out and in."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree
from xml.sax.saxutils import escape

MEDIA = "application/xml"
NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
LARGEST = 2 << 20
"""Bytes of XML: a thousand keys to delete, or ten thousand parts, and room."""
DEEPEST = 16
"""Elements in one another; no request of S3 has more than five."""


class Unreadable(Exception):
    """It is not XML, or more than anybody sends."""


class _Shallow(ElementTree.TreeBuilder):
    """A tree of half a million elements in one another would hold everybody up for seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> ElementTree.Element:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Unreadable
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> ElementTree.Element:
        self._depth -= 1
        return super().end(tag)


def leaf(name: str, value: object = "") -> str:
    return f"<{name}>{_text(str(value))}</{name}>"


def element(name: str, *inside: str) -> str:
    """``inside`` is markup already."""
    return f"<{name}>{''.join(inside)}</{name}>"


def document(name: str, *inside: str, namespace: str = NAMESPACE) -> bytes:
    space = f' xmlns="{namespace}"' if namespace else ""
    return f"{_HEAD}<{name}{space}>{''.join(inside)}</{name}>".encode()


def _text(value: str) -> str:
    """Keys may hold what XML cannot; clients that care ask for ``encoding-type=url``."""
    value = _SURROGATES.sub("\ufffd", escape(value, {'"': "&quot;", "\r": "&#13;"}))
    return _CONTROLS.sub(lambda found: f"&#x{ord(found[0]):x};", value)


def parsed(body: bytes, name: str) -> ElementTree.Element:
    """The root, which must be called so; namespaces are dropped. Raises ``Unreadable``."""
    if len(body) > LARGEST or b"<!" in body or b"\0" in body:
        # A document type, and with it entities that grow, is in no request of S3; nor are comments, nor UTF-16, which
        # would hide them.
        raise Unreadable
    try:
        parser = ElementTree.XMLParser(target=_Shallow())  # noqa: S314 (no entities come this far)
        root = ElementTree.fromstring(body, parser)  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise Unreadable from error
    for node in root.iter():
        node.tag = str(node.tag).rpartition("}")[2]
    if root.tag != name:
        raise Unreadable
    return root


def said(node: ElementTree.Element, name: str, default: str = "") -> str:
    """The text of a child."""
    found = node.find(name)
    return default if found is None else (found.text or "").strip()


def instant(moment: float) -> str:
    """``2026-11-16T03:02:35.123Z``."""
    whole = datetime.fromtimestamp(moment, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{whole.microsecond // 1000:03}Z"
