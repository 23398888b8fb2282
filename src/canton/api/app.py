"""The application: middleware, routers, and the OpenAPI document."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from canton import __version__
from canton.api.middleware.rate_limits import RateLimits
from canton.api.rendering import problems
from canton.api.rendering.openapi import description_route, openapi_maker
from canton.api.services import Services
from canton.api.v1 import (
    approvals,
    audit,
    events,
    members,
    node_import,
    node_lifecycle,
    nodes,
    operations,
    plans,
    quotas,
    roles,
    service_accounts,
    sites,
    tenants,
    version,
    whoami,
)

ROUTERS = (
    approvals.router,
    audit.router,
    events.router,
    members.router,
    node_import.router,
    node_lifecycle.router,
    nodes.router,
    operations.router,
    plans.router,
    quotas.router,
    roles.router,
    service_accounts.router,
    sites.router,
    tenants.router,
    version.router,
    whoami.router,
)

DESCRIPTION = """\
One public API; the command line, the console and every pipeline use it alike.

Requests that take time answer `202` with an operation. A request that changes something takes the headers
`Idempotency-Key`, `Canton-Reason` and `If-Match`; errors are RFC 9457 problems with stable codes. An object that the
caller may not see is answered with 404, as one that does not exist.
"""


def create_app(services: Services) -> FastAPI:
    app = FastAPI(
        title="Canton",
        version=__version__,
        description=DESCRIPTION,
        redirect_slashes=False,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.openapi = openapi_maker(app)  # type: ignore[method-assign]  # FastAPI's own way to say it
    app.add_api_route("/openapi.json", description_route(app), include_in_schema=False)
    app.state.services = services
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, prefix="/v1")
    if services.issuer is not None:
        app.mount("/issuer", _charged(services.issuer, services.rate_limits))
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    return app


def _charged(issuer: ASGIApp, rates: RateLimits) -> ASGIApp:
    """The embedded issuer with a rate limit: its callers have no token yet, so requests count for the address."""

    async def charged(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            rates.charge_address((scope.get("client") or ("",))[0])
        await issuer(scope, receive, send)

    return charged
