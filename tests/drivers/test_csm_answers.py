"""What the driver makes of PCS's answers: which may pass, and which only a person can help with."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from canton.contracts.power import PowerState
from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.drivers.csm.gateway import Access, Answer, Gateway
from canton.drivers.csm.power import PcsPower

NODE = "x1000c0s0b0n0"


class Answering(Gateway):
    """A gateway that gives every request this answer, and a token to whoever wants one."""

    def __init__(self, folder: Path, answer: Answer) -> None:
        secret = folder / "secret"
        secret.write_text("s")
        super().__init__(Access("https://csm.example.org", "admin-client", secret))
        self.answer = answer

    def _send(self, *request: Any) -> Answer:
        return Answer(200, {"access_token": "t", "expires_in": 60}) if "token" in request[1] else self.answer


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (429, TemporaryFailure),
        (500, TemporaryFailure),
        (503, TemporaryFailure),
        (404, PermanentFailure),
        (405, PermanentFailure),
        (403, PermanentFailure),
    ],
)
def test_an_answer_is_temporary_or_not_by_its_status(tmp_path: Path, status: int, expected: type[StepFailure]) -> None:
    power = PcsPower(Answering(tmp_path, Answer(status, None)))
    with pytest.raises(expected) as looking:
        asyncio.run(power.states([NODE]))
    with pytest.raises(expected):
        asyncio.run(power.switch([NODE], PowerState.ON, lambda: None))
    assert looking.type is expected
