"""What the API server says when it refuses: ``metav1.Status``, in its own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.transport.call import Reply, json_reply, text_reply

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


class Refused(Exception):
    """A request that is answered with this Status."""

    def __init__(self, status: Json) -> None:
        super().__init__(status["message"])
        self.status = status

    def reply(self) -> Reply:
        return json_reply(self.status, self.status["code"])


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong with an object."""

    field: str
    message: str
    """Without the field before it."""
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, more: str = "") -> Mistake:
    return Mistake(field, f"Required value{f': {more}' if more else ''}", "FieldValueRequired")


def invalid_value(field: str, shown: str, why: str) -> Mistake:
    return Mistake(field, f"Invalid value: {shown}: {why}")


def failure(code: int, reason: str, message: str, details: Json = None) -> Json:
    told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        told["reason"] = reason
    if details:
        told["details"] = details
    return {**told, "code": code}


def success(kind: Kind, name: str, uid: str) -> Json:
    details = {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _about(kind: Kind, name: str) -> Json:
    return {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural}


def not_found(kind: Kind, name: str) -> Refused:
    return Refused(failure(404, "NotFound", f'{kind.resource} "{name}" not found', _about(kind, name)))


def already_exists(kind: Kind, name: str) -> Refused:
    message = f'{kind.resource} "{name}" already exists'
    return Refused(failure(409, "AlreadyExists", message, _about(kind, name)))


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> Refused:
    message = f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}'
    return Refused(failure(409, "Conflict", message, _about(kind, name)))


def invalid(kind: Kind, name: str, mistakes: Sequence[Mistake]) -> Refused:
    texts = [str(mistake) for mistake in mistakes]
    shown = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": each.reason, "message": each.message, "field": each.field} for each in mistakes]
    whole = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details = {**_about(kind, name), "kind": kind.kind, "causes": causes}
    return Refused(failure(422, "Invalid", f'{whole} "{name}" is invalid: {shown}', details))


def bad_request(message: str) -> Refused:
    return Refused(failure(400, "BadRequest", message))


def too_large(limit: int) -> Refused:
    return Refused(failure(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}"))


def forbidden(kind: Kind, name: str, why: str) -> Refused:
    shown = f'{kind.resource} "{name}"' if name else kind.resource
    return Refused(failure(403, "Forbidden", f"{shown} is forbidden: {why}", _about(kind, name)))


def forbidden_path(user: str, verb: str, path: str) -> Refused:
    message = f'forbidden: User "{user}" cannot {verb} path "{path}"'
    return Refused(failure(403, "Forbidden", message, {}))


def unauthorized() -> Refused:
    return Refused(failure(401, "Unauthorized", "Unauthorized"))


def expired(asked: int, oldest: int) -> Json:
    return failure(410, "Expired", f"too old resource version: {asked} ({oldest})")


def expired_continue() -> Refused:
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter."
    )
    return Refused(failure(410, "Expired", message))


def internal_error(message: str) -> Refused:
    details = {"causes": [{"message": message}]}
    return Refused(failure(500, "InternalError", f"Internal error occurred: {message}", details))


def wrong_method() -> Refused:
    message = "the server does not allow this method on the requested resource"
    return Refused(failure(405, "MethodNotAllowed", message, {}))


def wrong_media(accepted: Sequence[str], why: str = "") -> Refused:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return Refused(failure(415, "UnsupportedMediaType", message + why))


def no_page() -> Reply:
    return text_reply("404 page not found\n", 404)
