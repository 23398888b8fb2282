"""How a PATCH changes an object, by the media type of its body."""

from __future__ import annotations

from csm_emulator.dialects import merge_patch
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.auth.identity import is_true
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.requests import Request, read
from csm_emulator.services.kubernetes.statuses import StatusError, bad_request, failure, unsupported_media_type
from csm_emulator.services.kubernetes.writes import field_managers, json_patch, strategic_patch
from csm_emulator.services.kubernetes.writes.validation import check_shape

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def accepted_media_types(kind: Kind) -> tuple[str, ...]:
    """The accepted media types; strategic merge patch works for built-in kinds only."""
    custom = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return custom if kind.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


def is_apply(request: Request) -> bool:
    return request.media in (APPLY_PATCH, "application/apply-patch+cbor")


def apply_patch(request: Request, live: Json) -> Json:
    """The object after the patch, not yet validated; raises ``StatusError``."""
    media = request.media
    if media not in accepted_media_types(request.kind):
        raise unsupported_media_type(accepted_media_types(request.kind))
    patch = read(request.call.body)
    try:
        if media == JSON_PATCH:
            return check_shape(json_patch.apply(live, patch))
        if not isinstance(patch, dict):
            raise bad_request("json: cannot unmarshal the patch into Go value of type map[string]interface {}")
        merge = strategic_patch.merge if media == STRATEGIC_PATCH else merge_patch.merged
        return check_shape(merge(live, patch))
    except json_patch.PatchError as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise StatusError(failure(422, "Invalid", message, {})) from error


def server_side_apply(request: Request, live: Json, moment: str) -> Json:
    """Server-side apply; ``live`` is None when the object is new."""
    manager = request.call.first("fieldManager")
    if not manager:
        raise bad_request(
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
        )
    configuration = check_shape(read(request.call.body, yaml_too=True))
    for field in ("kind", "apiVersion"):
        if not isinstance(configuration.get(field), str):
            raise bad_request(f"error decoding YAML: Object '{field[0].upper()}{field[1:]}' is missing in the patch")
    if configuration["metadata"].get("name", request.name) != request.name:
        raise bad_request(
            f"the name of the object ({configuration['metadata']['name']}) does not match the name on the URL "
            f"({request.name})"
        )
    bare = {name: content for name, content in configuration["metadata"].items() if name != "managedFields"}
    configuration = {**configuration, "metadata": bare}
    if live is None:
        named_meta = {**bare, "name": request.name}
        return field_managers.with_managed_fields(
            {**configuration, "metadata": named_meta}, configuration, manager, moment
        )
    conflicts = field_managers.conflicts_with(live, configuration, manager)
    if conflicts and not is_true(request.call.first("force")):
        raise _conflict(conflicts, request.kind)
    return field_managers.with_managed_fields(
        field_managers.apply(live, configuration, manager), configuration, manager, moment
    )


def _conflict(conflicts: list[tuple[str, tuple[str, ...]]], kind: Kind) -> StatusError:
    details = [
        (f'conflict with "{other_manager}" using {kind.api_version}', "." + ".".join(path))
        for other_manager, path in conflicts
    ]
    count = f"{len(details)} conflict" + ("s" if len(details) > 1 else "")
    if len(details) == 1:
        message = f"Apply failed with {count}: {details[0][0]}: {details[0][1]}"
    else:
        message = f"Apply failed with {count}: " + "; ".join(f"{text}: {field}" for text, field in details)
    causes = [{"reason": "FieldManagerConflict", "message": text, "field": field} for text, field in details]
    return StatusError(failure(409, "Conflict", message, {"causes": causes}))
