"""The scenario itself, without interference: what the interrupted runs are compared with."""

from __future__ import annotations

from canton.domain.operation import OperationState
from crash.conftest import NewCase
from crash.scenario import check


def test_a_faulty_device_leads_to_attention_and_undo(new_case: NewCase) -> None:
    with new_case() as case:
        case.start_worker()
        case.run_to_the_end()
        check(case)


def test_a_willing_device_leads_to_done(new_case: NewCase) -> None:
    with new_case(faulty=False) as case:
        case.start_worker()
        case.run_to_the_end()
        check(case, OperationState.DONE)
