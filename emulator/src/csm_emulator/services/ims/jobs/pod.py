"""One job's pod at work: what it knows, and what it can do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.ims.images.artifacts import Bucket
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Reply

NAMESPACE = "ims"
STEP = "ims.job"
HELPER = "INFO:ims_python_helper:"


class Run:
    """Its facts are on a table, the files that it fetched among the blobs: it goes on after a restart."""

    def __init__(self, context: Context, table: RecordTable, s3: Bucket, job_id: str) -> None:
        self.context = context
        self.job_id = job_id
        self.s3 = s3
        self._table = table

    def __getitem__(self, name: str) -> Any:
        return self._table[self.job_id][name]

    def keep(self, **facts: Json) -> None:
        self._table[self.job_id] = {**self._table[self.job_id], **facts}

    def say(self, container: str, *lines: str) -> None:
        self.context.cluster.say(NAMESPACE, self["pod"], container, lines)

    def say_over(self, container: str, seconds: float, lines: Iterable[str]) -> None:
        """One after another, over this span from now."""
        told = list(lines)
        now = self.context.clock.now()
        spaced = [(now + seconds * (place + 1) / (len(told) + 1), line) for place, line in enumerate(told)]
        self.context.cluster.say(NAMESPACE, self["pod"], container, spaced)

    def begin(self, *containers: str) -> None:
        for container in containers:
            self.context.cluster.begin(NAMESPACE, self["pod"], container)

    def end(self, container: str, code: int = 0) -> None:
        self.context.cluster.end(NAMESPACE, self["pod"], container, code)

    def chance(self, least: float, most: float, what: str) -> float:
        return self.context.random.between(least, most, "ims.job", self.job_id, what)

    def go(self, step: str, seconds: float, tries: int = 0) -> None:
        """To this step, after so long."""
        self.keep(next=step)
        self.context.scheduler.after(seconds, STEP, self.job_id, step, tries)

    def tell(self, status: str) -> bool:
        """Ask IMS to note the status. Nobody asks twice: when IMS is away, the job keeps the status that it had."""
        reply = self.ask("PATCH", f"/jobs/{self.job_id}", {"status": status})
        self.keep(status=status)
        return reply.ok

    def tell_or_warn(self, container: str, status: str) -> None:
        self.say(container, f"{HELPER}image_set_job_status: {{ims_job_id: {self.job_id}, job_status: {status}}}")
        if not self.tell(status):
            self.say(container, f"Warning: Could not set job status for job {self.job_id} to {status}")

    def ask(self, method: str, path: str, body: Json) -> Reply:
        return self.context.mesh.ask("ims", method, path, body)

    def fail(self, container: str, *lines: str) -> None:
        """The container ends with an error, and so does the job."""
        self.say(container, *lines)
        self.tell_or_warn(container, "error")
        self.end(container, 1)
        self.finish()

    def finish(self) -> None:
        self.keep(next="")
        self.drop_files()

    def save_file(self, kind: str, data: bytes) -> None:
        self.context.blobs.put(self._file(kind), data)
        self.keep(files=sorted({*self["files"], kind}))

    def file(self, kind: str) -> bytes | None:
        return self.context.blobs.get(self._file(kind)) if kind in self["files"] else None

    def drop_files(self) -> None:
        for kind in self["files"]:
            self.context.blobs.delete(self._file(kind))
        self.keep(files=[])

    def _file(self, kind: str) -> str:
        return f"ims/{self.job_id}/{kind}"
