"""Objects in the protobuf of Kubernetes, as kubectl sends secrets, Jobs, reviews and evictions.

Numbers and names are those of the API's ``generated.proto``. Other fields are skipped, as every protobuf reader skips
unknown fields. Other kinds are not read at all.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping

from csm_emulator.records import Json

MEDIA = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
Value = int | bytes
FieldReader = Callable[[Json, Value], Json]
"""(value of the field so far, or None; one occurrence) → new value of the field."""


class ProtobufError(Exception):
    """The body is not Kubernetes protobuf."""


class UnknownKind(Exception):
    """The field numbers of this kind are not in this module; the message names the kind."""


def read(body: bytes) -> Json:
    """Raises ``ProtobufError`` and ``UnknownKind``."""
    if not body.startswith(_MAGIC):
        raise ProtobufError("the body does not begin with the Kubernetes magic number")
    envelope = _message(_UNKNOWN)(None, body[len(_MAGIC) :])
    meta = envelope.get("typeMeta", {})
    version, kind = meta.get("apiVersion", ""), meta.get("kind", "")
    numbers = _KINDS.get((version, kind)) or _OF_EVERY_GROUP.get(kind)
    if numbers is None:
        raise UnknownKind(f"{version} {kind}")
    return {**meta, **_message(numbers)(None, envelope.get("raw", b""))}


def _raw(_: Json, value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ProtobufError("a number where there should be bytes")
    return value


def _text(_: Json, value: Value) -> str:
    try:
        return _raw(None, value).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError("a string that is not UTF-8") from error


def _base64(_: Json, value: Value) -> str:
    return base64.b64encode(_raw(None, value)).decode()


def _int(_: Json, value: Value) -> int:
    if not isinstance(value, int):
        raise ProtobufError("bytes where there should be a number")
    return value if value < 1 << 63 else value - (1 << 64)


def _bool(_: Json, value: Value) -> bool:
    return bool(_int(None, value))


def _repeated(reader: FieldReader) -> FieldReader:
    return lambda previous, value: [*(previous or ()), reader(None, value)]


def _map(reader: FieldReader) -> FieldReader:
    def entry(previous: Json, value: Value) -> Json:
        pair = _message({1: ("key", _text), 2: ("value", reader)})(None, value)
        return {**(previous or {}), pair.get("key", ""): pair.get("value", "")}

    return entry


def _message(numbers: Mapping[int, tuple[str, FieldReader]]) -> FieldReader:
    def fill(_: Json, value: Value) -> Json:
        message: dict[str, Json] = {}
        for number, occurrence in _fields(_raw(None, value)):
            if number in numbers:
                name, reader = numbers[number]
                message[name] = reader(message.get(name), occurrence)
        # Go writes empty strings too; JSON leaves them out.
        return {name: occurrence for name, occurrence in message.items() if occurrence != ""}

    return fill


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError("a field of an unknown wire type")
        if position + size > len(data):
            raise ProtobufError("the body ends in the middle of a field")
        yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise ProtobufError("a varint that is too long")


_TYPE = _message({1: ("apiVersion", _text), 2: ("kind", _text)})
_UNKNOWN: dict[int, tuple[str, FieldReader]] = {1: ("typeMeta", _TYPE), 2: ("raw", _raw)}
_OWNER = _message(
    {
        1: ("kind", _text),
        3: ("name", _text),
        4: ("uid", _text),
        5: ("apiVersion", _text),
        6: ("controller", _bool),
        7: ("blockOwnerDeletion", _bool),
    }
)
_META = _message(
    {
        1: ("name", _text),
        2: ("generateName", _text),
        3: ("namespace", _text),
        5: ("uid", _text),
        6: ("resourceVersion", _text),
        11: ("labels", _map(_text)),
        12: ("annotations", _map(_text)),
        13: ("ownerReferences", _repeated(_OWNER)),
        14: ("finalizers", _repeated(_text)),
    }
)
_REFERENCE = _message({1: ("name", _text)})
_DELETION: dict[int, tuple[str, FieldReader]] = {
    1: ("gracePeriodSeconds", _int),
    2: ("preconditions", _message({1: ("uid", _text), 2: ("resourceVersion", _text)})),
    4: ("propagationPolicy", _text),
    5: ("dryRun", _repeated(_text)),
}
_EVICTION: dict[int, tuple[str, FieldReader]] = {1: ("metadata", _META), 2: ("deleteOptions", _message(_DELETION))}
_RESOURCE = _message(
    {
        1: ("namespace", _text),
        2: ("verb", _text),
        3: ("group", _text),
        4: ("version", _text),
        5: ("resource", _text),
        6: ("subresource", _text),
        7: ("name", _text),
    }
)
_PATH = _message({1: ("path", _text), 2: ("verb", _text)})
_ACCESS = _message({1: ("resourceAttributes", _RESOURCE), 2: ("nonResourceAttributes", _PATH)})
_CONTAINER = _message(
    {
        1: ("name", _text),
        2: ("image", _text),
        3: ("command", _repeated(_text)),
        4: ("args", _repeated(_text)),
        5: ("workingDir", _text),
        7: ("env", _repeated(_message({1: ("name", _text), 2: ("value", _text)}))),
        14: ("imagePullPolicy", _text),
    }
)
_POD_SPEC = _message(
    {
        2: ("containers", _repeated(_CONTAINER)),
        3: ("restartPolicy", _text),
        6: ("dnsPolicy", _text),
        8: ("serviceAccountName", _text),
        20: ("initContainers", _repeated(_CONTAINER)),
    }
)
_JOB_SPEC = _message(
    {
        1: ("parallelism", _int),
        2: ("completions", _int),
        3: ("activeDeadlineSeconds", _int),
        6: ("template", _message({1: ("metadata", _META), 2: ("spec", _POD_SPEC)})),
        7: ("backoffLimit", _int),
        8: ("ttlSecondsAfterFinished", _int),
    }
)
_CRON_JOB_SPEC = _message(
    {
        1: ("schedule", _text),
        2: ("startingDeadlineSeconds", _int),
        3: ("concurrencyPolicy", _text),
        4: ("suspend", _bool),
        5: ("jobTemplate", _message({1: ("metadata", _META), 2: ("spec", _JOB_SPEC)})),
        6: ("successfulJobsHistoryLimit", _int),
        7: ("failedJobsHistoryLimit", _int),
        8: ("timeZone", _text),
    }
)
_OF_EVERY_GROUP = {"DeleteOptions": _DELETION}
"""By kind: objects of these kinds have the API version of the group that they are sent to."""
_KINDS: dict[tuple[str, str], dict[int, tuple[str, FieldReader]]] = {
    ("v1", "Namespace"): {1: ("metadata", _META), 2: ("spec", _message({1: ("finalizers", _repeated(_text))}))},
    ("v1", "ConfigMap"): {
        1: ("metadata", _META),
        2: ("data", _map(_text)),
        3: ("binaryData", _map(_base64)),
        4: ("immutable", _bool),
    },
    ("v1", "Secret"): {
        1: ("metadata", _META),
        2: ("data", _map(_base64)),
        3: ("type", _text),
        4: ("stringData", _map(_text)),
        5: ("immutable", _bool),
    },
    ("v1", "ServiceAccount"): {
        1: ("metadata", _META),
        3: ("imagePullSecrets", _repeated(_REFERENCE)),
        4: ("automountServiceAccountToken", _bool),
    },
    ("batch/v1", "Job"): {1: ("metadata", _META), 2: ("spec", _JOB_SPEC)},
    ("batch/v1", "CronJob"): {1: ("metadata", _META), 2: ("spec", _CRON_JOB_SPEC)},
    ("policy/v1", "Eviction"): _EVICTION,
    ("policy/v1beta1", "Eviction"): _EVICTION,
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {1: ("metadata", _META), 2: ("spec", _ACCESS)},
    ("authentication.k8s.io/v1", "SelfSubjectReview"): {1: ("metadata", _META)},
}
