"""Requests: their path, options and body, parsed."""

from __future__ import annotations

import json
from dataclasses import dataclass

import yaml

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.encoding import protobuf
from csm_emulator.services.kubernetes.encoding import yaml as plain_yaml
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.services.kubernetes.statuses import StatusError, bad_request, failure, unsupported_media_type
from csm_emulator.transport.call import Call

READABLE = ("application/json", "application/yaml")
_DRY_RUN = 'Invalid value: []string{%s}: must be "All" or not set'


@dataclass(frozen=True, slots=True)
class Request:
    call: Call
    user: str
    kind: Kind
    namespace: str = ""
    """Empty for all namespaces, and for kinds without one."""
    name: str = ""
    subresource: str = ""

    @property
    def is_dry_run(self) -> bool:
        """Whether ``dryRun`` is All; raises ``StatusError`` for any other value."""
        modes = self.call.all("dryRun")
        if modes not in ([], ["All"], [""]):
            mode_list = ", ".join(f'"{mode}"' for mode in modes)
            message = f" is invalid: dryRun: {_DRY_RUN % mode_list}"
            raise StatusError(failure(422, "Invalid", message))
        return modes == ["All"]

    @property
    def manager(self) -> str:
        agent = self.call.headers.get("user-agent", "")
        return self.call.first("fieldManager") or agent.partition("/")[0] or "unknown"

    def body(self, accepted: tuple[str, ...] = READABLE) -> Json:
        """Parse the body: JSON, YAML, or protobuf for some kinds; raises ``StatusError``."""
        return body_of(self.call, accepted, protobuf_too=accepted == READABLE and not self.kind.custom)

    @property
    def media(self) -> str:
        return _media(self.call)


def body_of(call: Call, accepted: tuple[str, ...] = READABLE, *, protobuf_too: bool = True) -> Json:
    """Parse the body by its media type; raises ``StatusError``."""
    media = _media(call) or READABLE[0]
    if media == protobuf.MEDIA and protobuf_too:
        return _read_protobuf(call.body)
    if media not in accepted:
        raise unsupported_media_type(accepted)
    return read(call.body, yaml_too=media.endswith("yaml"))


def _media(call: Call) -> str:
    return call.headers.get("content-type", "").partition(";")[0].strip().lower()


def read(body: bytes, *, yaml_too: bool = False) -> Json:
    try:
        if yaml_too:
            # YAML values that JSON cannot express are refused here.
            body = json.dumps(plain_yaml.read(body), allow_nan=False).encode()
        return json.loads(body, parse_constant=_reject_constant)
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise bad_request(f"error decoding the body of the request: {str(error)[:200]}") from error


def _read_protobuf(body: bytes) -> Json:
    try:
        return protobuf.read(body)
    except protobuf.ProtobufError as error:
        raise bad_request(f"error decoding the body of the request: {error}") from error
    except protobuf.UnknownKind as error:
        raise unsupported_media_type(
            READABLE, f"; {error} in {protobuf.MEDIA} is not one of the kinds that this server reads"
        ) from error


def _reject_constant(text: str) -> None:
    raise ValueError(f"invalid character '{text[0]}' looking for beginning of value")


def parse(call: Call, user: str, registry: Registry) -> Request | None:
    """None for a path that no resource has."""
    segments = [segment for segment in call.path.split("/") if segment]
    if segments[:2] == ["api", "v1"]:
        group, version, tail = "", "v1", segments[2:]
    elif segments[:1] == ["apis"] and len(segments) > 3:
        group, version, tail = segments[1], segments[2], segments[3:]
    else:
        return None
    namespace = ""
    if tail[:1] == ["namespaces"] and len(tail) > 2 and (group or tail[2] not in ("status", "finalize")):
        namespace, tail = tail[1], tail[2:]
    kind = registry.find(group, version, tail[0]) if 1 <= len(tail) <= 3 else None
    if kind is None or (namespace and not kind.namespaced):
        return None
    name, subresource = (*tail[1:], "", "")[:2]
    if (name and kind.namespaced and not namespace) or (subresource and subresource not in kind.subresources):
        return None
    return Request(call, user, kind, namespace, name, subresource)
