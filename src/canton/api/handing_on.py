"""What one may hand on to another: never more than one holds, and never for longer."""

from __future__ import annotations

from canton.api.changes import Change
from canton.domain.errors import Forbidden
from canton.domain.instants import to_text
from canton.policy.decide import missing

_FOREVER = 2**63 - 1


def require_own(change: Change, permissions: frozenset[str], tenant: str | None, until: int | None) -> None:
    """Refuse to give what the caller will not itself hold up to ``until``, or, without one, for good.

    Otherwise whoever was made an administrator for an hour could stay one.
    """
    principal = change.caller.principal
    last = _FOREVER if until is None else until - 1
    beyond = sorted(missing(principal, permissions, tenant, last))
    if not beyond:
        return
    where = f"in {tenant}" if tenant else "at the provider"
    how_long = "without end" if until is None else f"until {to_text(until)}"
    raise Forbidden(
        f"{principal.id} does not hold {', '.join(beyond)} {where} {how_long} and so cannot hand it on; "
        "ask somebody who does, or give less",
        permission=change.permission,
        rule="exceeds-own",
        tenant=tenant,
        beyond=list(beyond),
    )
