"""How the driver classifies PCS's answers: which failures are temporary, and which need a person."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from canton.contracts.power import PowerState
from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.drivers.csm.gateway import Access, Response
from canton.drivers.csm.power import PcsPower
from fixed_answer_gateway import FixedAnswerGateway

NODE = "x1000c0s0b0n0"


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
    (tmp_path / "secret").write_text("s")
    access = Access("https://csm.example.org", "admin-client", tmp_path / "secret")
    power = PcsPower(FixedAnswerGateway(access, Response(status, None)))
    with pytest.raises(expected) as looking:
        asyncio.run(power.states([NODE]))
    with pytest.raises(expected):
        asyncio.run(power.switch([NODE], PowerState.ON, lambda: None))
    assert looking.type is expected
