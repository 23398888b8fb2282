"""Documents: their common fields, lists, and errors of the Fabric Manager.

The common fields have the names of VMware Xenon's service documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Handler, Route

Document = Record
MODELS = "com:services:fabric:models:"
ERROR = "com:vmware:xenon:common:ServiceErrorResponse"
INSTALLATION_TIME = 1_700_000_000_000_000
"""The time of the documents of a new installation, in microseconds since 1970."""
_PRINCIPAL = "/core/authz/system-user"


class RequestRejected(Exception):
    """The request fails with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def error_reply(refusal: RequestRejected) -> Reply:
    body = {
        "message": refusal.message,
        "statusCode": refusal.status,
        "errorCode": 0,
        "documentKind": ERROR,
    }
    return json_reply(body, refusal.status)


def not_found(path: str) -> RequestRejected:
    return RequestRejected(404, f"Service not found: {path}")


def read_object(call: Call) -> Document:
    try:
        body = json.loads(call.body)
    except (ValueError, RecursionError) as error:
        raise RequestRejected(400, "Body is not JSON") from error
    if not isinstance(body, dict):
        raise RequestRejected(400, "Body must be a JSON object")
    return body


class Envelope:
    """The fields that all documents of this Fabric Manager have."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self.owner = context.random.uuid("fabric-manager", "owner")

    def wrap(self, kind: str, link: str, action: str, version: int, micros: int | None = None) -> Document:
        return {
            "documentVersion": version,
            "documentEpoch": 0,
            "documentKind": MODELS + kind,
            "documentSelfLink": link,
            "documentUpdateTimeMicros": self.micros() if micros is None else micros,
            "documentUpdateAction": action,
            "documentExpirationTimeMicros": 0,
            "documentOwner": self.owner,
            "documentAuthPrincipalLink": _PRINCIPAL,
        }

    def micros(self) -> int:
        return round(self._clock.now() * 1_000_000)

    def list_links(self, links: Iterable[str], **extra: int) -> Reply:
        document_links = list(links)
        body = {
            "documentLinks": document_links,
            "documentCount": len(document_links),
            "queryTimeMicros": 1,
            "documentVersion": 0,
            "documentUpdateTimeMicros": 0,
            "documentExpirationTimeMicros": 0,
            "documentOwner": self.owner,
        }
        return json_reply({**extra, **body})


class DocumentCollection:
    """Documents of one kind, by the last segment of their links."""

    def __init__(self, table: RecordTable[Document], envelope: Envelope, kind: str, path: str) -> None:
        self._table = table
        self._envelope = envelope
        self._kind = kind
        self.path = path

    def routes(self, create: Handler, delete: Handler, patch: Handler | None = None) -> Sequence[Route]:
        """The routes of a kind of documents: list and read are the same for all kinds, the others are given."""
        one = f"{self.path}/{{name}}"
        return (
            Route("GET", self.path, lambda _: self.list()),
            Route("POST", self.path, create),
            Route("GET", one, lambda call: json_reply(self.get(call.args["name"]))),
            *([Route("PATCH", one, patch)] if patch else []),
            Route("DELETE", one, delete),
        )

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __len__(self) -> int:
        return len(self._table)

    def items(self) -> Iterable[tuple[str, Document]]:
        return self._table.items()

    def values(self) -> Iterable[Document]:
        return self._table.values()

    def link(self, name: str) -> str:
        return f"{self.path}/{name}"

    def name_in(self, link: object) -> str | None:
        """The name of the document of a link; None when there is no such document."""
        if not isinstance(link, str) or not link.startswith(f"{self.path}/"):
            return None
        name = link[len(self.path) + 1 :]
        return name if name in self._table else None

    def get(self, name: str) -> Document:
        if name not in self._table:
            raise not_found(self.link(name))
        document: Document = self._table[name]
        return document

    def create(self, name: str, content: Mapping[str, Json]) -> Document:
        if name in self._table:
            raise RequestRejected(409, f"Service already started: {self.link(name)}")
        return self._put(name, content, "POST", 0)

    def change(self, name: str, content: Mapping[str, Json], action: str = "PATCH") -> Document:
        """Change the fields in ``content``; the others stay."""
        document = self.get(name)
        return self._put(name, {**document, **content}, action, document["documentVersion"] + 1)

    def _put(self, name: str, content: Mapping[str, Json], action: str, version: int) -> Document:
        document = {**content, **self._envelope.wrap(self._kind, self.link(name), action, version)}
        self._table[name] = document
        return document

    def delete(self, name: str) -> Document:
        """Delete the document, and return it."""
        document = self.get(name)
        del self._table[name]
        return {
            **document,
            **self._envelope.wrap(self._kind, self.link(name), "DELETE", document["documentVersion"] + 1),
        }

    def list(self) -> Reply:
        return self._envelope.list_links(map(self.link, self._table))
