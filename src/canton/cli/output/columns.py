"""The columns of each noun, and the key that identifies one. The names of columns are stable."""

from __future__ import annotations

from canton.cli.output.formats import Column, Shape
from canton.cli.output.table import cell


def _progress(steps: object) -> str:
    """``12/128``, and how many failed if any did."""
    if not isinstance(steps, dict):
        return cell(steps)
    failed = f", {steps['failed']} failed" if steps.get("failed") else ""
    return f"{steps.get('done')}/{steps.get('total')}{failed}"


def _without_empty(body: object) -> str:
    """An event's body or a record's details, without what is empty."""
    if not isinstance(body, dict):
        return cell(body)
    return cell({name: value for name, value in body.items() if cell(value) != "-"} or None)


def _limit(limit: object) -> str:
    return "no limit" if limit is None else cell(limit)


SITE = Shape(
    "site",
    "name",
    (
        Column("name", "name"),
        Column("description", "description", long=True),
        Column("created", "created_at", instant=True, wide=True),
        Column("version", "version", wide=True),
    ),
)
TENANT = Shape(
    "tenant",
    "name",
    (
        Column("name", "name"),
        Column("state", "state"),
        Column("nodes", "nodes"),
        Column("description", "description", long=True),
        Column("created", "created_at", instant=True, wide=True),
        Column("version", "version", wide=True),
    ),
)
ROLE = Shape(
    "role",
    "name",
    (
        Column("name", "name"),
        Column("scope", "scope"),
        Column("description", "description", long=True),
        Column("builtin", "builtin", wide=True),
        Column("permissions", "permissions", wide=True),
    ),
)
MEMBER = Shape(
    "binding",
    "id",
    (
        Column("subject", "subject", long=True),
        Column("role", "role"),
        Column("tenant", "tenant"),
        Column("until", "until", instant=True),
        Column("id", "id"),
        Column("identity", "identity", wide=True),
        Column("other-identity", "other_identity", wide=True),
        Column("granted-by", "granted_by", wide=True),
        Column("reason", "reason", wide=True),
        Column("created", "created_at", instant=True, wide=True),
    ),
)
QUOTA = Shape(
    "quota",
    "tenant",
    (
        Column("tenant", "tenant"),
        Column("nodes", "nodes", as_text=_limit),
        Column("nodes-used", "used.nodes"),
        Column("open-operations", "open_operations", as_text=_limit),
        Column("open-operations-used", "used.open_operations", wide=True),
        Column("service-accounts", "service_accounts", as_text=_limit),
        Column("service-accounts-used", "used.service_accounts", wide=True),
        Column("version", "version", wide=True),
    ),
)
NODE = Shape(
    "node",
    "xname",
    (
        Column("xname", "xname"),
        Column("nid", "nid", wide=True),
        Column("site", "site"),
        Column("state", "state"),
        Column("tenant", "tenant"),
        Column("separation", "separation", wide=True),
        Column("power", "power"),
        Column("operation", "claimed_by", wide=True),
        Column("seen", "seen_at", instant=True, wide=True),
        Column("stale", "stale", wide=True),
        Column("changed", "changed_at", instant=True, wide=True),
        Column("version", "version", wide=True),
    ),
)
OPERATION = Shape(
    "operation",
    "id",
    (
        Column("id", "id"),
        Column("state", "state"),
        Column("steps", "steps", as_text=_progress),
        Column("created", "created_at", instant=True),
        Column("summary", "summary", long=True),
        Column("tenant", "tenant", wide=True),
        Column("actor", "actor", wide=True),
        Column("done", "steps.done", wide=True),
        Column("total", "steps.total", wide=True),
        Column("failed", "steps.failed", wide=True),
        Column("nodes", "nodes", wide=True),
        Column("ended", "ended_at", instant=True, wide=True),
        Column("kind", "kind", wide=True),
        Column("reason", "reason", wide=True),
        Column("plan", "plan", wide=True),
        Column("worker", "worker", wide=True),
        Column("cancelled-by", "cancel_requested_by", wide=True),
        Column("attention", "attention", wide=True),
    ),
)
STEP = Shape(
    "step",
    "n",
    (
        Column("n", "n"),
        Column("kind", "kind"),
        Column("target", "target"),
        Column("state", "state"),
        Column("tries", "tries"),
        Column("changed", "changed_at", instant=True),
        Column("error", "error", long=True),
        Column("acts", "acts", wide=True),
        Column("begun", "begun_at", instant=True, wide=True),
        Column("evidence", "evidence", wide=True),
        Column("cause", "cause", wide=True),
    ),
)
PLAN = Shape(
    "plan",
    "digest",
    (
        Column("digest", "digest"),
        Column("kind", "kind", wide=True),
        Column("created", "created_at", instant=True),
        Column("summary", "summary", long=True),
        Column("tenant", "tenant", wide=True),
        Column("nodes", "nodes", wide=True),
    ),
)
APPROVAL = Shape(
    "approval",
    "id",
    (
        Column("id", "id"),
        Column("state", "state"),
        Column("permission", "permission"),
        Column("expires", "expires_at", instant=True),
        Column("requested-by", "requested_by", long=True),
        Column("reason", "reason", long=True),
        Column("tenant", "tenant", wide=True),
        Column("method", "method", wide=True),
        Column("path", "path", wide=True),
        Column("body", "body", wide=True),
        Column("decided-by", "decided_by", wide=True),
        Column("decided-reason", "decided_reason", wide=True),
        Column("created", "created_at", instant=True, wide=True),
    ),
)
EVENT = Shape(
    "event",
    "subject",
    (
        Column("at", "at", instant=True),
        Column("kind", "kind"),
        Column("subject", "subject", long=True),
        Column("tenant", "tenant"),
        Column("body", "body", long=True, as_text=_without_empty),
    ),
)
RECORD = Shape(
    "record",
    "seq",
    (
        Column("seq", "seq"),
        Column("at", "at", instant=True),
        Column("actor", "actor", long=True),
        Column("action", "action"),
        Column("outcome", "details.outcome"),
        Column("subject", "subject", long=True),
        Column("reason", "reason", long=True),
        Column("tenant", "tenant", wide=True),
        Column("details", "details", wide=True, as_text=_without_empty),
        Column("hash", "hash", wide=True),
    ),
)
ACCOUNT = Shape(
    "service-account",
    "id",
    (
        Column("id", "id"),
        Column("name", "name"),
        Column("tenant", "tenant"),
        Column("permissions", "permissions", long=True),
        Column("description", "description", long=True),
        Column("created-by", "created_by", wide=True),
        Column("created", "created_at", instant=True, wide=True),
        Column("version", "version", wide=True),
    ),
)
TOKEN = Shape(
    "token",
    "id",
    (
        Column("id", "id"),
        Column("expires", "expires_at", instant=True),
        Column("permissions", "permissions", long=True),
    ),
)
WHOAMI = Shape(
    "principal",
    "id",
    (
        Column("id", "id"),
        Column("identity", "identity"),
        Column("name", "name"),
        Column("kind", "kind"),
        Column("issuer", "issuer"),
        Column("expires", "expires_at", instant=True),
        Column("server", "server.version"),
    ),
)
OWN_ROLE = Shape(
    "binding",
    "role",
    (
        Column("role", "role"),
        Column("tenant", "tenant"),
        Column("source", "source"),
        Column("until", "until", instant=True),
    ),
)
