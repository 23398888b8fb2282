"""Validation of objects when they are written."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds import schema
from csm_emulator.services.kubernetes.kinds.built_in_schemas import known_fields, shape_errors
from csm_emulator.services.kubernetes.kinds.kinds import CONFIG_MAPS, NAMESPACES, SECRETS, Kind
from csm_emulator.services.kubernetes.statuses import FieldError, bad_request, invalid, invalid_value, required

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(_LABEL)
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_DATA_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
MOST_DATA = 1 << 20
_META_TEXTS = ("name", "namespace", "generateName", "resourceVersion", "uid", "creationTimestamp", "selfLink")


def check_shape(value: Json) -> Json:
    """The object with metadata of the right types; raises ``StatusError``. Other modules rely on these types."""
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; json parse error: json: cannot unmarshal into Go value")
    meta = value.get("metadata") or {}
    if not isinstance(meta, dict):
        raise bad_request('json: cannot unmarshal into Go struct field ".metadata" of type v1.ObjectMeta')
    return {**value, "metadata": _check_meta({name: field for name, field in meta.items() if field is not None})}


def _check_meta(meta: Json) -> Json:
    for name in _META_TEXTS:
        if not isinstance(meta.get(name, ""), str):
            raise _unmarshal(name, "string")
    for name in ("labels", "annotations"):
        if not _is_map_of_texts(meta.get(name, {})):
            raise _unmarshal(name, "map[string]string")
    if not _is_list_of(meta.get("finalizers", []), str):
        raise _unmarshal("finalizers", "[]string")
    if not all(_is_owner(owner) for owner in _as_list(meta.get("ownerReferences", []))):
        raise _unmarshal("ownerReferences", "[]v1.OwnerReference")
    if not _is_list_of(meta.get("managedFields", []), dict):
        raise _unmarshal("managedFields", "[]v1.ManagedFieldsEntry")
    return meta


def _unmarshal(name: str, expected: str) -> Exception:
    return bad_request(f"json: cannot unmarshal into Go struct field ObjectMeta.metadata.{name} of type {expected}")


def _is_map_of_texts(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _is_list_of(value: Json, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _is_owner(value: Json) -> bool:
    fields = ("apiVersion", "kind", "name", "uid")
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in fields)


def check_content(kind: Kind, value: Json) -> Json:
    """The object in its stored form; raises ``StatusError`` with all errors."""
    meta = value["metadata"]
    errors = [*_name_errors(kind, meta["name"]), *_label_errors(meta)]
    if kind.custom:
        value = schema.prepare(value, kind.schema)
        errors += schema.errors(value, kind.schema)
    else:
        value = known_fields(kind, value)
        errors += shape_errors(kind, value)
    if kind == SECRETS:
        value = _encode_string_data(value)
        errors += _secret_errors(value)
    elif kind == CONFIG_MAPS:
        errors += _config_errors(value)
    if errors:
        raise invalid(kind, meta["name"], errors)
    return value


def _name_errors(kind: Kind, name: str) -> Iterator[FieldError]:
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif kind == NAMESPACES:
        if len(name) > 63 or not _DNS_LABEL.fullmatch(name):
            yield invalid_value("metadata.name", f'"{name}"', _LABEL_RULE)
    elif len(name) > 253:
        yield invalid_value("metadata.name", f'"{name}"', "must be no more than 253 characters")
    elif not _SUBDOMAIN.fullmatch(name):
        yield invalid_value("metadata.name", f'"{name}"', _SUBDOMAIN_RULE)


def _label_errors(meta: Json) -> Iterator[FieldError]:
    for value in (meta.get("labels") or {}).values():
        if len(value) > 63:
            yield invalid_value("metadata.labels", f'"{value}"', "must be no more than 63 characters")
        elif not _LABEL_VALUE.fullmatch(value):
            yield invalid_value("metadata.labels", f'"{value}"', _LABEL_VALUE_RULE)


def _encode_string_data(value: Json) -> Json:
    texts = value.get("stringData")
    if not isinstance(texts, dict):
        return value
    data = value.get("data") if isinstance(value.get("data"), dict) else {}
    encoded = {name: base64.b64encode(str(text).encode()).decode() for name, text in texts.items()}
    remainder = {name: text for name, text in value.items() if name != "stringData"}
    return {**remainder, "data": {**data, **encoded}}


def _secret_errors(value: Json) -> Iterator[FieldError]:
    yield from _data_errors("data", value.get("data"))
    for encoded in (value.get("data") or {}).values():
        try:
            base64.b64decode(encoded or "", validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise bad_request(
                'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0'
            ) from error


def _config_errors(value: Json) -> Iterator[FieldError]:
    for field in ("data", "binaryData"):
        yield from _data_errors(field, value.get(field))


def _data_errors(field: str, data: Json) -> Iterator[FieldError]:
    if data is None:
        return
    if not isinstance(data, dict) or not all(isinstance(text, str | None) for text in data.values()):
        raise bad_request(f"json: cannot unmarshal into Go struct field .{field} of type map[string]string")
    for name in data:
        if not _DATA_KEY.fullmatch(name):
            yield invalid_value(f"{field}[{name}]", f'"{name}"', _DATA_KEY_RULE)
    if sum(len(text or "") for text in data.values()) > MOST_DATA:
        yield FieldError("[]", "Too long: must have at most 1048576 bytes", "FieldValueTooLong")
