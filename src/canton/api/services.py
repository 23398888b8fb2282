"""What the API is given: made in ``wiring``, or in a test, and handed to ``create_app``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from fastapi import FastAPI, Request

from canton.api.events.hub import Hub
from canton.api.middleware.rate_limits import Rates
from canton.api.middleware.read_capacity import Lists
from canton.api.middleware.write_capacity import Writers
from canton.api.mutations.refusals import Refusals
from canton.contracts.identity import TokenVerifier
from canton.policy.roles import Roles
from canton.settings.model import Settings
from canton.store.database import Database


@dataclass(frozen=True, slots=True)
class Services:
    database: Database
    verifier: TokenVerifier
    roles: Roles
    settings: Settings
    hub: Hub
    clock: Callable[[], int]
    rates: Rates
    issuer: FastAPI | None = None
    """The embedded one, for laptops."""
    writers: Writers = field(default_factory=Writers)
    lists: Lists = field(default_factory=Lists)
    refusals: Refusals = field(default_factory=Refusals)
    pinning: Lock = field(default_factory=Lock)
    """Held by the one request that pins bindings at a time."""


def services(request: Request) -> Services:
    found: Services = request.app.state.services
    return found
