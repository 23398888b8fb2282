"""Version 1 of the API: one router per noun; none knows another."""

from __future__ import annotations

from canton.api.v1 import tenants

ROUTERS = (tenants.router,)
