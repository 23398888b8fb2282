"""A tenant reads the cause of a failure without the provider's hosts, paths and accounts; the provider reads all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from api.conftest import Api
from api.test_nodes import fill, member, xname
from canton.contracts.power import Power, PowerState
from canton.domain.errors import DatabaseUnavailable, StepFailure
from canton.drivers.csm.gateway import Access, Gateway, Response
from canton.drivers.csm.power import PcsPower
from canton.drivers.demo.power import FolderPower
from canton.operations.kinds.set_power import SetPower
from devices import QUICK, rested, working
from fixed_answer_gateway import FixedAnswerGateway

HOST, CLIENT, FOLDER = "csm-api.internal", "canton-client", "provider-secrets"
ONCE = replace(QUICK, tries=1)


class DefectivePower:
    """A power service with a defect: its error is Python's own."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def states(self, _nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        raise self.error

    async def switch(self, *_: object) -> Mapping[str, StepFailure]:
        raise self.error


class UnreachableGateway(Gateway):
    """A gateway that cannot be reached."""

    def _connection(self) -> object:  # type: ignore[override]
        raise OSError(f"[Errno 111] Connect call failed: {HOST}")


def pcs(folder: Path, answer: Response) -> Power:
    (folder / "secret").write_text("s")
    return PcsPower(FixedAnswerGateway(Access(f"https://{HOST}", CLIENT, folder / "secret"), answer))


def blocked(folder: Path) -> Power:
    (folder / xname(0)).mkdir()
    return FolderPower(folder)


def silent(folder: Path) -> Power:
    (folder / "secret").write_text("s")
    return PcsPower(UnreachableGateway(Access(f"https://{HOST}", CLIENT, folder / "secret")))


FAILURES: Mapping[str, Callable[[Path], Power | None]] = {
    "no power service is set up": lambda _: None,
    "no file of the node": FolderPower,
    "the file of the node is a folder": blocked,
    "no secret": lambda folder: PcsPower(Gateway(Access(f"https://{HOST}", CLIENT, folder / "secret"))),
    "no answer": silent,
    "the account is refused": lambda folder: pcs(folder, Response(403, None)),
    "another answer": lambda folder: pcs(folder, Response(500, {"detail": f"http://{HOST}:28007 is down"})),
    "too many requests": lambda folder: pcs(folder, Response(429, {"detail": HOST})),
    "an answer that is none": lambda folder: pcs(folder, Response(200, {"error": HOST})),
    "the node is not there": lambda folder: pcs(
        folder, Response(200, {"status": [{"xname": xname(0), "error": f"not found in http://{HOST}/hsm"}]})
    ),
    "a defect": lambda folder: DefectivePower(ValueError(f"{folder}/client.pem of {CLIENT}")),
    "another part of Canton": lambda folder: DefectivePower(
        DatabaseUnavailable("try again", cause=f"{folder} on {HOST}")
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_step_tells_its_tenant_nothing_of_the_providers_site(admin: Api, tmp_path: Path, failure: str) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    fill(admin, {"psi": range(1)})
    service = FAILURES[failure](folder)
    ann = member(admin, "psi")
    operation = ann.post("/v1/nodes/power", {"nodes": xname(0), "to": "on"}).json["id"]

    async def drive() -> None:
        kind = SetPower({"power@alps": service} if service else {"power@elsewhere": FolderPower(folder)}, ONCE)
        async with working(admin.services.database, kind):
            await rested(admin.services.database, operation)

    asyncio.run(drive())
    paths = [f"/v1/operations/{operation}", f"/v1/operations/{operation}/steps", "/v1/events?after=start", "/v1/audit"]
    text = "".join(ann.get(path).text for path in paths)
    assert xname(0) in text
    for secret in (HOST, CLIENT, FOLDER, "/apis/", "elsewhere", "configuration"):
        assert secret not in text
    [step] = ann.get(f"/v1/operations/{operation}/steps").json["items"]
    assert (step["state"], bool(step["error"]["message"]), step["cause"]) == ("failed", True, None)
    [step] = admin.get(f"/v1/operations/{operation}/steps").json["items"]
    assert step["cause"]
