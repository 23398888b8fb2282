"""Error replies of the API server: ``metav1.Status``, with the API server's own messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.transport.call import Reply, json_reply, text_reply

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class StatusError(Exception):
    """The request is answered with this Status."""

    def __init__(self, status: Json) -> None:
        super().__init__(status["message"])
        self.status = status

    def reply(self) -> Reply:
        return json_reply(self.status, self.status["code"])


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error in one field of an object."""

    field: str
    message: str
    """The name of the field is not part of it."""
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(field, f"Required value{f': {detail}' if detail else ''}", "FieldValueRequired")


def invalid_value(field: str, value: str, reason: str) -> FieldError:
    return FieldError(field, f"Invalid value: {value}: {reason}")


def failure(code: int, reason: str, message: str, details: Json = None) -> Json:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if details:
        status["details"] = details
    return {**status, "code": code}


def success(kind: Kind, name: str, uid: str) -> Json:
    details = {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _details(kind: Kind, name: str) -> Json:
    return {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural}


def not_found(kind: Kind, name: str) -> StatusError:
    return StatusError(failure(404, "NotFound", f'{kind.resource} "{name}" not found', _details(kind, name)))


def already_exists(kind: Kind, name: str) -> StatusError:
    message = f'{kind.resource} "{name}" already exists'
    return StatusError(failure(409, "AlreadyExists", message, _details(kind, name)))


def conflict(kind: Kind, name: str, reason: str = MODIFIED) -> StatusError:
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {reason}'
    return StatusError(failure(409, "Conflict", message, _details(kind, name)))


def invalid(kind: Kind, name: str, errors: Sequence[FieldError]) -> StatusError:
    texts = [str(field_error) for field_error in errors]
    summary = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in errors]
    qualified_kind = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details = {**_details(kind, name), "kind": kind.kind, "causes": causes}
    return StatusError(failure(422, "Invalid", f'{qualified_kind} "{name}" is invalid: {summary}', details))


def bad_request(message: str) -> StatusError:
    return StatusError(failure(400, "BadRequest", message))


def too_large(limit: int) -> StatusError:
    return StatusError(failure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}"))


def forbidden(kind: Kind, name: str, reason: str) -> StatusError:
    target = f'{kind.resource} "{name}"' if name else kind.resource
    return StatusError(failure(403, "Forbidden", f"{target} is forbidden: {reason}", _details(kind, name)))


def forbidden_path(user: str, verb: str, path: str) -> StatusError:
    message = f'forbidden: User "{user}" cannot {verb} path "{path}"'
    return StatusError(failure(403, "Forbidden", message, {}))


def unauthorized() -> StatusError:
    return StatusError(failure(401, "Unauthorized", "Unauthorized"))


def expired(version: int, oldest: int) -> Json:
    return failure(410, "Expired", f"too old resource version: {version} ({oldest})")


def expired_continue() -> StatusError:
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
    return StatusError(failure(410, "Expired", message))


def internal_error(message: str) -> StatusError:
    details = {"causes": [{"message": message}]}
    return StatusError(failure(500, "InternalError", f"Internal error occurred: {message}", details))


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(failure(405, "MethodNotAllowed", message, {}))


def unsupported_media_type(accepted: Sequence[str], detail: str = "") -> StatusError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return StatusError(failure(415, "UnsupportedMediaType", message + detail))


def page_not_found() -> Reply:
    return text_reply("404 page not found\n", 404)
