"""Getting and listing objects, in the form that the client asked for."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.services.kubernetes.kinds.conversion import shown
from csm_emulator.services.kubernetes.kinds.kinds import Json, Kind
from csm_emulator.services.kubernetes.reads import tables
from csm_emulator.services.kubernetes.reads.selectors import Test, selector
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import bad_request, expired_continue, not_found
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.transport.call import Call


@dataclass(frozen=True, slots=True)
class Reading:
    objects: Objects

    def get(self, request: Request) -> Json:
        found = self.objects.get(request.kind, request.namespace, request.name)
        if found is None:
            raise not_found(request.kind, request.name)
        return self.form(request.kind, found, request.call)

    def form(self, kind: Kind, found: Json, call: Call) -> Json:
        """One object as the client wants it."""
        value = shown(kind, found)
        form = tables.wanted(call)
        if form == tables.TABLE:
            meta = {"resourceVersion": value["metadata"]["resourceVersion"]}
            return tables.table(kind, [value], call, self.objects.context.clock.now(), meta)
        return tables.partial(value) if form == tables.PARTIAL else value

    def list(self, request: Request) -> Json:
        chosen = chooser(request)
        found = [each for each in self.objects.list(request.kind, request.namespace) if chosen(each)]
        version = str(self.objects.store.version)
        page, meta = _page(found, request.call, version)
        return self._listed(request.kind, page, {"resourceVersion": version, **meta}, request.call)

    def _listed(self, kind: Kind, page: Sequence[Json], meta: Json, call: Call) -> Json:
        values = [shown(kind, each) for each in page]
        form = tables.wanted(call)
        if form == tables.TABLE:
            return tables.table(kind, values, call, self.objects.context.clock.now(), meta)
        if form:
            partial = [tables.partial(each) for each in values]
            return {
                "kind": tables.PARTIAL_LIST,
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
                "items": partial,
            }
        return {"kind": kind.lists, "apiVersion": kind.api_version, "metadata": meta, "items": values}


def chooser(request: Request) -> Test:
    """What a list or a watch is about: a path with a name means that one alone."""
    fields = request.call.first("fieldSelector")
    named = f"metadata.name={request.name}" if request.name else ""
    return selector(
        request.kind, request.call.first("labelSelector"), ",".join(part for part in (fields, named) if part)
    )


def _page(found: list[Json], call: Call, version: str) -> tuple[list[Json], Json]:
    """From where the last page ended, at most ``limit`` of them."""
    text = call.first("limit", "0") or "0"
    if not text.lstrip("-").isdecimal():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    limit, after = int(text), call.first("continue")
    if after:
        start = _start(after)
        found = [each for each in found if _place(each) > start]
    if limit <= 0 or len(found) <= limit:
        return found, {}
    last = json.dumps({"v": "meta.k8s.io/v1", "rv": int(version), "start": _place(found[limit - 1])})
    token = base64.urlsafe_b64encode(last.encode()).decode().rstrip("=")
    return found[:limit], {"continue": token, "remainingItemCount": len(found) - limit}


def _start(token: str) -> str:
    try:
        told = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return str(told["start"])
    except (binascii.Error, ValueError, TypeError, LookupError) as error:
        raise expired_continue() from error


def _place(value: Json) -> str:
    return f"{value['metadata'].get('namespace', '')}/{value['metadata']['name']}"
