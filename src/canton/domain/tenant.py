"""A tenant: an institution that has a part of the machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

# Also a name in DNS, of a Kubernetes namespace, and of an HSM group: lower case, and no dot or underscore.
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}[a-z0-9]", re.ASCII)


class TenantState(StrEnum):
    ACTIVE = "active"
    SUSPENDED = "suspended"
    """Its members can read and change nothing; running operations continue."""
    DELETED = "deleted"
    """The row stays, so that the name is never used again: audit and events refer to it."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a tenant may have; None is no limit."""

    nodes: int | None = None
    open_operations: int | None = None
    service_accounts: int | None = None


def is_name(text: str) -> bool:
    """A name for a tenant or a site."""
    return NAME.fullmatch(text) is not None
