"""Get and list objects, in the form that the client requested."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.conversion import convert
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.reads import tables
from csm_emulator.services.kubernetes.reads.selectors import Predicate, selector
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import bad_request, expired_continue, not_found
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.transport.call import Call


@dataclass(frozen=True, slots=True)
class ObjectReader:
    objects: Objects

    def get(self, request: Request) -> Json:
        value = self.objects.get(request.kind, request.namespace, request.name)
        if value is None:
            raise not_found(request.kind, request.name)
        return self.in_requested_form(request.kind, value, request.call)

    def in_requested_form(self, kind: Kind, original: Json, call: Call) -> Json:
        """The object as the Accept header requests it: whole, as a table, or its metadata only."""
        value = convert(kind, original)
        form = tables.requested_form(call)
        if form == tables.TABLE:
            meta = {"resourceVersion": value["metadata"]["resourceVersion"]}
            return tables.table(kind, [value], call, self.objects.context.clock.now(), meta)
        return tables.partial(value) if form == tables.PARTIAL else value

    def list(self, request: Request) -> Json:
        matches = request_selector(request)
        items = [item for item in self.objects.list(request.kind, request.namespace) if matches(item)]
        version = str(self.objects.store.version)
        page, meta = _page(items, request.call, version)
        return self._list_document(request.kind, page, {"resourceVersion": version, **meta}, request.call)

    def _list_document(self, kind: Kind, page: Sequence[Json], meta: Json, call: Call) -> Json:
        values = [convert(kind, item) for item in page]
        form = tables.requested_form(call)
        if form == tables.TABLE:
            return tables.table(kind, values, call, self.objects.context.clock.now(), meta)
        if form:
            partial = [tables.partial(item) for item in values]
            return {
                "kind": tables.PARTIAL_LIST,
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
                "items": partial,
            }
        return {"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": meta, "items": values}


def request_selector(request: Request) -> Predicate:
    """The selector of a list or a watch; a name in the path selects only that object."""
    fields = request.call.first("fieldSelector")
    name_selector = f"metadata.name={request.name}" if request.name else ""
    return selector(
        request.kind, request.call.first("labelSelector"), ",".join(part for part in (fields, name_selector) if part)
    )


def _page(items: list[Json], call: Call, version: str) -> tuple[list[Json], Json]:
    """The items after the ``continue`` token, at most ``limit``, and the list metadata."""
    text = call.first("limit", "0") or "0"
    if not text.lstrip("-").isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    limit, token = int(text), call.first("continue")
    if token:
        start = _decode_token(token)
        items = [item for item in items if _sort_key(item) > start]
    if limit <= 0 or len(items) <= limit:
        return items, {}
    next_token = json.dumps({"v": "meta.k8s.io/v1", "rv": int(version), "start": _sort_key(items[limit - 1])})
    encoded = base64.urlsafe_b64encode(next_token.encode()).decode().rstrip("=")
    return items[:limit], {"continue": encoded, "remainingItemCount": len(items) - limit}


def _decode_token(token: str) -> str:
    try:
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return str(content["start"])
    except (binascii.Error, ValueError, TypeError, LookupError) as error:
        raise expired_continue() from error


def _sort_key(value: Json) -> str:
    return f"{value['metadata'].get('namespace', '')}/{value['metadata']['name']}"
