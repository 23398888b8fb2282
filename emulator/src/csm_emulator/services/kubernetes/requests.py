"""What a request is about: the path taken apart, the options read."""

from __future__ import annotations

import json
from dataclasses import dataclass

import yaml

from csm_emulator.services.kubernetes.encoding import protobuf
from csm_emulator.services.kubernetes.encoding import yaml as plain_yaml
from csm_emulator.services.kubernetes.kinds.kinds import Json, Kind
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.services.kubernetes.statuses import Refused, bad_request, failure, wrong_media
from csm_emulator.transport.call import Call

READABLE = ("application/json", "application/yaml")
_DRY_RUN = 'Invalid value: []string{%s}: must be "All" or not set'


@dataclass(frozen=True, slots=True)
class Request:
    call: Call
    user: str
    kind: Kind
    namespace: str = ""
    """Empty for all of them, and for what has none."""
    name: str = ""
    subresource: str = ""

    @property
    def dry(self) -> bool:
        """Raises ``Refused`` for anything but All."""
        asked = self.call.all("dryRun")
        if asked not in ([], ["All"], [""]):
            listed = ", ".join(f'"{each}"' for each in asked)
            message = f" is invalid: dryRun: {_DRY_RUN % listed}"
            raise Refused(failure(422, "Invalid", message))
        return asked == ["All"]

    @property
    def manager(self) -> str:
        agent = self.call.headers.get("user-agent", "")
        return self.call.first("fieldManager") or agent.partition("/")[0] or "unknown"

    def body(self, accepted: tuple[str, ...] = READABLE) -> Json:
        """JSON, YAML, or the protobuf of some kinds; raises ``Refused``."""
        return body_of(self.call, accepted, protobuf_too=accepted == READABLE and not self.kind.custom)

    @property
    def media(self) -> str:
        return _media(self.call)


def body_of(call: Call, accepted: tuple[str, ...] = READABLE, *, protobuf_too: bool = True) -> Json:
    """By its media type; raises ``Refused``."""
    media = _media(call) or READABLE[0]
    if media == protobuf.MEDIA and protobuf_too:
        return _read_protobuf(call.body)
    if media not in accepted:
        raise wrong_media(accepted)
    return read(call.body, yaml_too=media.endswith("yaml"))


def _media(call: Call) -> str:
    return call.headers.get("content-type", "").partition(";")[0].strip().lower()


def read(body: bytes, *, yaml_too: bool = False) -> Json:
    try:
        if yaml_too:
            # What YAML knows beyond JSON is refused here.
            body = json.dumps(plain_yaml.read(body), allow_nan=False).encode()
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise bad_request(f"error decoding the body of the request: {str(error)[:200]}") from error


def _read_protobuf(body: bytes) -> Json:
    try:
        return protobuf.read(body)
    except protobuf.Unreadable as error:
        raise bad_request(f"error decoding the body of the request: {error}") from error
    except protobuf.UnknownKind as error:
        raise wrong_media(READABLE, f"; {error} in {protobuf.MEDIA} is not among what this server reads") from error


def _no_number(text: str) -> None:
    raise ValueError(f"invalid character '{text[0]}' looking for beginning of value")


def parse(call: Call, user: str, registry: Registry) -> Request | None:
    """None for a path that nobody serves."""
    segments = [segment for segment in call.path.split("/") if segment]
    if segments[:2] == ["api", "v1"]:
        group, version, rest = "", "v1", segments[2:]
    elif segments[:1] == ["apis"] and len(segments) > 3:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2 and (group or rest[2] not in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    kind = registry.find(group, version, rest[0]) if 1 <= len(rest) <= 3 else None
    if kind is None or (namespace and not kind.namespaced):
        return None
    name, subresource = (*rest[1:], "", "")[:2]
    if (name and kind.namespaced and not namespace) or (subresource and subresource not in kind.subresources):
        return None
    return Request(call, user, kind, namespace, name, subresource)
