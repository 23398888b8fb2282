"""``/loader``: the loader, which makes image records of the firmware in Nexus or in an upload."""

from __future__ import annotations

from email.message import Message
from email.parser import BytesParser

from csm_emulator.context import Context
from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json
from csm_emulator.services.fas.images.api import Images
from csm_emulator.services.fas.responses import RequestFailed, answer, uuid_from, with_problems, without_empty
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

LOAD_TIME = 20.0
LOGS = "/fw/loaderlogs/"
_SUFFIXES = (".rpm", ".zip")


class Loader:
    def __init__(self, context: Context, images: Images) -> None:
        self._context = context
        self._images = images
        self._runs: RecordTable[dict[str, list[str]]] = context.tables.open("fas.loader")
        self._now: RecordTable[Json] = context.tables.open("fas.loader.now")
        context.scheduler.register("fas.loaded", self._loaded)

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/loader", self.status),
            Route("GET", "/loader/{loaderID}", with_problems(self.get)),
            Route("DELETE", "/loader/{loaderID}", with_problems(self.delete)),
            Route("POST", "/loader", with_problems(self.upload)),
            Route("POST", "/loader/nexus", with_problems(self.load_nexus)),
        ]

    def restarted(self) -> None:
        self._now.pop("busy", None)

    def status(self, _: Call) -> Reply:
        runs = [{"loaderRunID": run} for run in sorted(self._runs)]
        return answer(
            without_empty({"loaderStatus": "busy" if "busy" in self._now else "ready", "loaderRunList": runs})
        )

    def load_nexus(self, _: Call) -> Reply:
        return self._begin("")

    def upload(self, call: Call) -> Reply:
        self._expect_idle()
        name = _file_name(call)
        suffix = name[name.rfind(".") :] if "." in name else ""
        if suffix.lower() not in _SUFFIXES:
            raise RequestFailed(415, f"{name} not .rpm or .zip --> {suffix}")
        return self._begin(name)

    def get(self, call: Call) -> Reply:
        run = self._expect(call, "open")
        return answer(without_empty({"loaderRunOutput": self._runs[run]["output"]}))

    def delete(self, call: Call) -> Reply:
        del self._runs[self._expect(call, "stat")]
        return Reply(204)

    def _expect_idle(self) -> None:
        if "busy" in self._now:
            raise RequestFailed(429, "Loader busy, try again later")

    def _expect(self, call: Call, verb: str) -> str:
        run = uuid_from(call, "loaderID")
        if run not in self._runs:
            raise RequestFailed(404, f"{verb} {LOGS}{run}: no such file or directory")
        return run

    def _begin(self, name: str) -> Reply:
        self._expect_idle()
        number = self._now.get("number", 0) + 1
        run = self._context.random.uuid("loader", number)
        self._now.update({"number": number, "busy": run})
        self._runs[run] = {"output": []}
        self._context.scheduler.after(LOAD_TIME, "fas.loaded", run, name)
        return answer({"loaderRunID": run})

    def _loaded(self, run: str, name: str) -> None:
        if self._now.get("busy") != run:
            return
        del self._now["busy"]
        added: list[Json] = [] if name else self._images.load_release_images()
        source = f"/fw/{name}" if name else "nexus"
        lines = [f"INFO Processing files from {source}", *(f"INFO IMAGE: {marshal(image)}" for image in added)]
        if run in self._runs:
            self._runs[run] = {"output": [*lines, f"INFO Number of Updates: {len(added)}"]}


def _file_name(call: Call) -> str:
    """The file name of the part ``file`` of a form. Raises ``RequestFailed`` with Go's error text if there is none."""
    kind = Message()
    kind["Content-Type"] = call.headers.get("content-type", "")
    if kind.get_content_type() not in ("multipart/form-data", "multipart/mixed"):
        raise RequestFailed(400, "request Content-Type isn't multipart/form-data")
    if kind.get_boundary() is None:
        raise RequestFailed(400, "no multipart boundary param in Content-Type")
    head = f"Content-Type: {call.headers['content-type']}\r\n\r\n".encode("utf-8", "replace")
    form = BytesParser().parsebytes(head + call.body)
    if not form.is_multipart():
        raise RequestFailed(400, "multipart: NextPart: EOF")
    for part in form.walk():
        if part.get_param("name", header="content-disposition") == "file" and part.get_filename():
            return str(part.get_filename()).rpartition("/")[2]
    raise RequestFailed(400, "http: no such file")
