"""Requests of a job to IMS."""

from __future__ import annotations

from csm_emulator.records import Json, Record
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh


class ImsUnavailable(Exception):
    """IMS does not answer now; the caller retries."""


class ImsError(Exception):
    """IMS answered with an error; the message is that of the Python library ``requests``."""


class ImsClient:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def upload_key(self, name: str, key: str) -> str:
        return str(self._ask("POST", "/public-keys", {"name": name, "public_key": key})["id"])

    def remove_key(self, key_id: str) -> bool:
        return self._send("DELETE", f"/public-keys/{key_id}").ok

    def image(self, image_id: str) -> Record:
        return self._ask("GET", f"/images/{image_id}")

    def start_job(self, body: Record) -> Record:
        return self._ask("POST", "/jobs", body)

    def job(self, job_id: str) -> Record:
        return self._ask("GET", f"/jobs/{job_id}")

    def delete_job(self, job_id: str) -> bool:
        return self._send("DELETE", f"/jobs/{job_id}").ok

    def _ask(self, method: str, path: str, body: Json = NO_BODY) -> Record:
        """Raises ``ImsUnavailable`` and ``ImsError``."""
        reply = self._send(method, path, body)
        if reply.status in (502, 503, 504):
            raise ImsUnavailable
        if not reply.ok:
            kind = "Client" if reply.status < 500 else "Server"
            raise ImsError(f"{reply.status} {kind} Error for url: http://cray-ims:80{path}")
        record: Record = reply.json()
        return record

    def _send(self, method: str, path: str, body: Json = NO_BODY) -> Reply:
        return self._mesh.ask("ims", method, f"/v3{path}", body)
