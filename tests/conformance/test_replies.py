"""Every reply is as HPE's files say, or the file is known to be wrong there."""

from __future__ import annotations

import os
import re

import pytest

from conformance import replies
from conformance.contracts import ABSENT, CONTRACTS, Contract, here
from conformance.names import names_of
from conformance.spec_bugs import KNOWN
from emulator.conftest import Open

EXAMPLES = int(os.environ.get("CANTON_TEST_EXAMPLES", "20"))

pytestmark = pytest.mark.skipif(not here(), reason=ABSENT)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.service)
def test_replies_are_as_described(contract: Contract, open_machine: Open) -> None:
    site = open_machine("tiny")
    found = replies.examine(contract, lambda: site, names_of(site), EXAMPLES)
    assert found.asked > 0
    unknown = {
        str(finding): shown
        for finding, shown in found.found.items()
        if not any(re.fullmatch(pattern, str(finding)) for pattern in KNOWN)
    }
    assert not unknown, "\n".join(f"{finding}\n    {shown}" for finding, shown in unknown.items())
