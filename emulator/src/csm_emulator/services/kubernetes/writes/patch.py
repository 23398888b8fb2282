"""How a PATCH changes an object, by the media type of its body."""

from __future__ import annotations

from csm_emulator.dialects import merge_patch
from csm_emulator.services.kubernetes.auth.identity import is_true
from csm_emulator.services.kubernetes.kinds.kinds import Json, Kind
from csm_emulator.services.kubernetes.requests import Request, read
from csm_emulator.services.kubernetes.statuses import Refused, bad_request, failure, wrong_media
from csm_emulator.services.kubernetes.writes import field_managers, json_patch, strategic_patch
from csm_emulator.services.kubernetes.writes.validation import check_shape

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def accepted(kind: Kind) -> tuple[str, ...]:
    """Only for kinds that are built in the API server knows how lists are merged."""
    custom = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
    return custom if kind.custom else (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH)


def is_apply(request: Request) -> bool:
    return request.media in (APPLY_PATCH, "application/apply-patch+cbor")


def patched(request: Request, live: Json) -> Json:
    """The object after the patch, not yet checked; raises ``Refused``."""
    media = request.media
    if media not in accepted(request.kind):
        raise wrong_media(accepted(request.kind))
    patch = read(request.call.body)
    try:
        if media == JSON_PATCH:
            return check_shape(json_patch.apply(live, patch))
        if not isinstance(patch, dict):
            raise bad_request("json: cannot unmarshal the patch into Go value of type map[string]interface {}")
        merge = strategic_patch.merge if media == STRATEGIC_PATCH else merge_patch.merged
        return check_shape(merge(live, patch))
    except json_patch.Unpatchable as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise Refused(failure(422, "Invalid", message, {})) from error


def applied(request: Request, live: Json, moment: str) -> Json:
    """Server-side apply; ``live`` is None when the object is new."""
    manager = request.call.first("fieldManager")
    if not manager:
        raise bad_request(
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
        )
    wanted = check_shape(read(request.call.body, yaml_too=True))
    for field in ("kind", "apiVersion"):
        if not isinstance(wanted.get(field), str):
            raise bad_request(f"error decoding YAML: Object '{field[0].upper()}{field[1:]}' is missing in the patch")
    if wanted["metadata"].get("name", request.name) != request.name:
        raise bad_request(
            f"the name of the object ({wanted['metadata']['name']}) does not match the name on the URL ({request.name})"
        )
    bare = {name: each for name, each in wanted["metadata"].items() if name != "managedFields"}
    wanted = {**wanted, "metadata": bare}
    if live is None:
        named = {**bare, "name": request.name}
        return field_managers.noted({**wanted, "metadata": named}, wanted, manager, moment)
    clashes = field_managers.clashes(live, wanted, manager)
    if clashes and not is_true(request.call.first("force")):
        raise _clash(clashes, request.kind)
    return field_managers.noted(field_managers.apply(live, wanted, manager), wanted, manager, moment)


def _clash(clashes: list[tuple[str, tuple[str, ...]]], kind: Kind) -> Refused:
    shown = [(f'conflict with "{who}" using {kind.api_version}', "." + ".".join(path)) for who, path in clashes]
    count = f"{len(shown)} conflict" + ("s" if len(shown) > 1 else "")
    if len(shown) == 1:
        message = f"Apply failed with {count}: {shown[0][0]}: {shown[0][1]}"
    else:
        message = f"Apply failed with {count}: " + "; ".join(f"{text}: {field}" for text, field in shown)
    causes = [{"reason": "FieldManagerConflict", "message": text, "field": field} for text, field in shown]
    return Refused(failure(409, "Conflict", message, {"causes": causes}))
