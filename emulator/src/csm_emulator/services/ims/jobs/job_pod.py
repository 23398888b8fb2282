"""One job's pod: its state, and the actions of its containers."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.ims.images.artifacts import S3WithMetadata
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Reply

NAMESPACE = "ims"
STEP = "ims.job"
HELPER = "INFO:ims_python_helper:"


class JobPod:
    """A job's pod. Its state is in a table and its files are blobs, so it continues after a restart."""

    def __init__(self, context: Context, table: RecordTable[Record], s3: S3WithMetadata, job_id: str) -> None:
        self.context = context
        self.job_id = job_id
        self.s3 = s3
        self._table = table

    def __getitem__(self, name: str) -> Json:
        return self._table[self.job_id][name]

    def update(self, **facts: Json) -> None:
        self._table[self.job_id] = {**self._table[self.job_id], **facts}

    def say(self, container: str, *lines: str) -> None:
        self.context.cluster.write_log(NAMESPACE, self["pod"], container, lines)

    def say_spread(self, container: str, seconds: float, lines: Iterable[str]) -> None:
        """Log the lines one after another, spread evenly over the next seconds."""
        texts = list(lines)
        now = self.context.clock.now()
        spaced = [(now + seconds * (index + 1) / (len(texts) + 1), line) for index, line in enumerate(texts)]
        self.context.cluster.write_log(NAMESPACE, self["pod"], container, spaced)

    def begin(self, *containers: str) -> None:
        for container in containers:
            self.context.cluster.begin(NAMESPACE, self["pod"], container)

    def end(self, container: str, code: int = 0) -> None:
        self.context.cluster.end(NAMESPACE, self["pod"], container, code)

    def random_seconds(self, least: float, most: float, purpose: str) -> float:
        return self.context.random.between(least, most, "ims.job", self.job_id, purpose)

    def schedule_step(self, step: str, seconds: float, tries: int = 0) -> None:
        """Schedule the step after this many seconds."""
        self.update(next=step)
        self.context.scheduler.after(seconds, STEP, self.job_id, step, tries)

    def report_status(self, status: str) -> bool:
        """Send the status to IMS once; return whether IMS accepted it. The request is not repeated when IMS is down."""
        reply = self.ask("PATCH", f"/jobs/{self.job_id}", {"status": status})
        self.update(status=status)
        return reply.ok

    def report_status_or_warn(self, container: str, status: str) -> None:
        self.say(container, f"{HELPER}image_set_job_status: {{ims_job_id: {self.job_id}, job_status: {status}}}")
        if not self.report_status(status):
            self.say(container, f"Warning: Could not set job status for job {self.job_id} to {status}")

    def ask(self, method: str, path: str, body: Json) -> Reply:
        return self.context.mesh.ask("ims", method, path, body)

    def fail(self, container: str, *lines: str) -> None:
        """End the container and the job with an error."""
        self.say(container, *lines)
        self.report_status_or_warn(container, "error")
        self.end(container, 1)
        self.finish()

    def finish(self) -> None:
        self.update(next="")
        self.drop_files()

    def save_file(self, kind: str, data: bytes) -> None:
        self.context.blobs.put(self._file(kind), data)
        self.update(files=sorted({*self["files"], kind}))

    def file(self, kind: str) -> bytes | None:
        return self.context.blobs.get(self._file(kind)) if kind in self["files"] else None

    def drop_files(self) -> None:
        for kind in self["files"]:
            self.context.blobs.delete(self._file(kind))
        self.update(files=[])

    def _file(self, kind: str) -> str:
        return f"ims/{self.job_id}/{kind}"
