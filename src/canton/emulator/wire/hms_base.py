"""What HPE's services share through their library ``hms-base``: problems, marshalled answers, names of components."""

from __future__ import annotations

import json
import re

from canton.domain import xname
from canton.domain.errors import InvalidXname
from canton.domain.xname_types import XnameType
from canton.emulator.wire.call import JSON, Json, Reply

PROBLEM = "application/problem+json"
SNIFFED = "text/plain; charset=utf-8"
"""What Go's server makes of JSON for which the handler set no Content-Type in time."""
CONTROLLERS = frozenset(
    {XnameType.CHASSIS_BMC, XnameType.ROUTER_BMC, XnameType.NODE_BMC, XnameType.CABINET_PDU_CONTROLLER}
)
_LEADING_ZEROS = re.compile("(?<![0-9])0+(?=[0-9])")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def marshal(value: Json) -> str:
    """As Go's ``json.Marshal`` writes it: compact, safe inside HTML, no newline."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character, escape in _ESCAPES.items():
        if character in text:
            text = text.replace(character, escape)
    return text


def marshalled(value: Json, status: int = 200, media: str = JSON) -> Reply:
    return Reply(status, marshal(value).encode("utf-8", "replace"), media)


def problem(status: int, title: str, detail: str, instance: str) -> Reply:
    """A ProblemDetails: what is empty is left out."""
    fields = {"type": "about:blank", "title": title, "detail": detail, "instance": instance, "status": status}
    text = marshal({name: value for name, value in fields.items() if value})
    return Reply(status, text.encode("utf-8", "replace") + b"\n", PROBLEM)


def hms_type(text: str) -> XnameType | None:
    """The type of component that this names, None for no name: capitals and blanks are no name."""
    if text != text.strip().lower():
        return None
    try:
        return xname.parse(text).type
    except InvalidXname:
        return None


def normalised(text: str) -> str:
    """Without leading zeros, blanks and capitals, whether it is a name or not."""
    return _LEADING_ZEROS.sub("", text.strip()).lower()


def verified(text: str) -> str:
    """The normal form of a name, empty for no name."""
    name = normalised(text)
    return name if hms_type(name) is not None else ""
