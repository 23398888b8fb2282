"""The dependencies of the API, constructed in ``wiring`` or in a test and passed to ``create_app``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from fastapi import FastAPI, Request

from canton.api.events.hub import Hub
from canton.api.middleware.rate_limits import RateLimits
from canton.api.middleware.read_capacity import ReadCapacity
from canton.api.middleware.write_capacity import WriteCapacity
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
    rate_limits: RateLimits
    issuer: FastAPI | None = None
    """The embedded one, for laptops."""
    write_capacity: WriteCapacity = field(default_factory=WriteCapacity)
    read_capacity: ReadCapacity = field(default_factory=ReadCapacity)
    refusals: Refusals = field(default_factory=Refusals)
    pinning_lock: Lock = field(default_factory=Lock)
    """Held by the one request that pins bindings at a time."""


def services(request: Request) -> Services:
    app_services: Services = request.app.state.services
    return app_services
