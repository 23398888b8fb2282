"""What the API is given: made in ``wiring``, or in a test, and handed to ``create_app``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fastapi import FastAPI, Request

from canton.api.hub import Hub
from canton.contracts.identity import TokenVerifier
from canton.policy.roles import Roles
from canton.settings import Settings
from canton.store.database import Database


@dataclass(frozen=True, slots=True)
class Services:
    database: Database
    verifier: TokenVerifier
    roles: Roles
    settings: Settings
    hub: Hub
    clock: Callable[[], int]
    issuer: FastAPI | None = None
    """The embedded one, for laptops."""


def services(request: Request) -> Services:
    found: Services = request.app.state.services
    return found
