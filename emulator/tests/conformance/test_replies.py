"""Every reply matches HPE's files, or the difference is known."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pytest

from conformance import replies
from conformance.contracts import ABSENT, CONTRACTS, Contract, here
from conformance.replies import Finding
from conformance.spec_bugs import KNOWN, NEVER_DONE, SERVER_ERRORS
from conftest import Open

DEFAULT_EXAMPLES = 30
MORE_DRAWS = 8
SUCCESS_SHARE = 0.3
"""The least share of requests that must succeed: refusals alone would show little."""
EXAMPLES = int(os.environ.get("CANTON_TEST_EXAMPLES", str(DEFAULT_EXAMPLES)))

pytestmark = pytest.mark.skipif(not here(), reason=ABSENT)


# The longest, that of IMS, takes two minutes, and the next longest nearly as long.
@pytest.mark.slow(100)
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.service)
def test_replies_are_as_described(contract: Contract, open_machine: Open) -> None:
    findings = replies.examine(contract, lambda: open_machine("tiny"), EXAMPLES, lambda _: True)
    differences, errors = KNOWN[contract.service], SERVER_ERRORS.get(contract.service, {})
    unknown = _unknown(findings.violations, differences) + _unknown(findings.server_errors, errors)
    assert not unknown, "\n".join(unknown)
    assert findings.successes > findings.replies * SUCCESS_SHARE, (
        f"{findings.successes} of {findings.replies} replies are 2xx"
    )
    if EXAMPLES >= DEFAULT_EXAMPLES:
        stale = _stale(differences, findings.violations) + _stale(errors, findings.server_errors)
        still_stale = _without_those_of_more_draws(contract, open_machine, stale)
        assert not still_stale, "nothing matches these any more: " + "\n".join(still_stale)
        _check_that_all_succeeded(findings.never_successful, NEVER_DONE.get(contract.service, {}))


def _without_those_of_more_draws(contract: Contract, open_machine: Open, stale: Sequence[str]) -> Sequence[str]:
    """A rare difference may need other requests than the first: those that its operation shows in more draws go."""
    for draw in range(1, MORE_DRAWS + 1):
        if not stale:
            break
        chosen = partial(_is_of, [pattern.partition(" → ")[0] for pattern in stale])
        findings = replies.examine(contract, lambda: open_machine("tiny"), EXAMPLES * 2, chosen, draw)
        stale = _stale(stale, [*findings.violations, *findings.server_errors])
    return stale


def _is_of(operations: Sequence[str], label: str) -> bool:
    return any(re.fullmatch(operation, label) for operation in operations)


def _check_that_all_succeeded(never: Sequence[str], expected: Mapping[str, str]) -> None:
    unexpected = [label for label in never if not any(re.fullmatch(pattern, label) for pattern in expected)]
    assert not unexpected, f"no request succeeded: {unexpected}"
    successful = [pattern for pattern in expected if not any(re.fullmatch(pattern, label) for label in never)]
    assert not successful, f"these do succeed: {successful}"


def _unknown(findings: Mapping[Finding, str], patterns: Mapping[str, str]) -> list[str]:
    return [
        f"{finding}\n    {example}"
        for finding, example in findings.items()
        if not any(_matches(pattern, finding) for pattern in patterns)
    ]


def _stale(patterns: Iterable[str], findings: Iterable[Finding]) -> list[str]:
    findings = list(findings)
    return [pattern for pattern in patterns if not any(_matches(pattern, finding) for finding in findings)]


def _matches(pattern: str, finding: Finding) -> bool:
    return re.fullmatch(pattern, f"{finding.operation} → {finding.status}: {finding.what}", re.DOTALL) is not None
