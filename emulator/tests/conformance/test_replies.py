"""Every reply is as HPE's files say, or the file is known to be wrong there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

import pytest

from conformance import replies
from conformance.contracts import ABSENT, CONTRACTS, Contract, here
from conformance.replies import Finding
from conformance.spec_bugs import KNOWN, NEVER_DONE, SERVER_ERRORS
from conftest import Open

DEFAULT_EXAMPLES = 30
DONE = 0.3
"""So much of what is asked must be done: refusals alone would show little."""
EXAMPLES = int(os.environ.get("CANTON_TEST_EXAMPLES", str(DEFAULT_EXAMPLES)))

pytestmark = pytest.mark.skipif(not here(), reason=ABSENT)


# The longest, that of IMS, takes two minutes, and the next longest nearly as long.
@pytest.mark.slow(100)
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.service)
def test_replies_are_as_described(contract: Contract, open_machine: Open) -> None:
    findings = replies.examine(contract, lambda: open_machine("tiny"), EXAMPLES)
    known, errors = KNOWN[contract.service], SERVER_ERRORS.get(contract.service, {})
    unknown = _unknown(findings.found, known) + _unknown(findings.server_errors, errors)
    assert not unknown, "\n".join(unknown)
    assert findings.done > findings.asked * DONE, f"{findings.done} of {findings.asked} replies are 2xx"
    if EXAMPLES >= DEFAULT_EXAMPLES:
        stale = _stale(known, findings.found) + _stale(errors, findings.server_errors)
        assert not stale, "nothing matches these any more: " + "\n".join(stale)
        _check_that_all_were_done(findings.never_done, NEVER_DONE.get(contract.service, {}))


def _check_that_all_were_done(never: Sequence[str], expected: Mapping[str, str]) -> None:
    unexpected = [label for label in never if not any(re.fullmatch(pattern, label) for pattern in expected)]
    assert not unexpected, f"no request succeeded: {unexpected}"
    done = [pattern for pattern in expected if not any(re.fullmatch(pattern, label) for label in never)]
    assert not done, f"these do succeed: {done}"


def _unknown(found: Mapping[Finding, str], known: Mapping[str, str]) -> list[str]:
    return [
        f"{finding}\n    {shown}"
        for finding, shown in found.items()
        if not any(_matches(pattern, finding) for pattern in known)
    ]


def _stale(known: Mapping[str, str], found: Mapping[Finding, str]) -> list[str]:
    return [pattern for pattern in known if not any(_matches(pattern, finding) for finding in found)]


def _matches(pattern: str, finding: Finding) -> bool:
    return re.fullmatch(pattern, f"{finding.operation} → {finding.status}: {finding.what}", re.DOTALL) is not None
