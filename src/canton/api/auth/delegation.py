"""What one may hand on to another: never more than one holds, and never for longer."""

from __future__ import annotations

from canton.domain.errors import Forbidden
from canton.domain.instants import to_text
from canton.policy.bindings import Principal
from canton.policy.decide import Rights, missing

EXCEEDS_OWN = "exceeds-own"


def require_own(principal: Principal, permission: str, rights: Rights) -> None:
    """Refuse to give, or to let somebody else give, what the principal will not itself hold for so long.

    Otherwise whoever was made an administrator for an hour could stay one. ``permission`` is that of the change.
    """
    beyond = sorted(missing(principal, rights))
    if beyond:
        raise Forbidden(
            f"{describe_beyond(principal, rights)}; ask a person who has them, or give fewer permissions",
            permission=permission,
            rule=EXCEEDS_OWN,
            tenant=rights.tenant,
            beyond=list(beyond),
        )


def describe_beyond(principal: Principal, rights: Rights) -> str | None:
    """What the principal does not hold itself and so cannot give, as a sentence; None if it may give all of it."""
    beyond = sorted(missing(principal, rights))
    if not beyond:
        return None
    where = f"in {rights.tenant}" if rights.tenant else "at the provider"
    how_long = "without end" if rights.until is None else f"until {to_text(rights.until)}"
    return f"{principal.id} does not hold {', '.join(beyond)} {where} {how_long} and so cannot give it to others"
