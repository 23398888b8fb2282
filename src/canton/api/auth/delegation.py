"""A caller can give others only permissions that it holds itself, and not for longer."""

from __future__ import annotations

from canton.domain.errors import Forbidden
from canton.domain.timestamps import to_text
from canton.policy.bindings import Principal
from canton.policy.decide import Rights, missing

EXCEEDS_OWN = "exceeds-own"


def require_own(principal: Principal, permission: str, rights: Rights) -> None:
    """Raise Forbidden if the principal does not hold these rights itself until the end for which it gives them.

    Otherwise an administrator for an hour could stay one. ``permission`` is that of the change.
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
    """A sentence about the rights that the principal does not hold and so cannot give; None if it holds them all."""
    beyond = sorted(missing(principal, rights))
    if not beyond:
        return None
    where = f"in {rights.tenant}" if rights.tenant else "at the provider"
    how_long = "without end" if rights.until is None else f"until {to_text(rights.until)}"
    return f"{principal.id} does not hold {', '.join(beyond)} {where} {how_long} and so cannot give it to others"
