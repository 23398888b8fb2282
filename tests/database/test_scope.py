"""The list filter and the decision agree: a list holds exactly the rows for which the policy decides yes."""

from __future__ import annotations

from typing import cast

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canton.api.auth.caller import Caller
from canton.api.services import Services
from canton.policy.bindings import Principal
from canton.policy.decide import Question, decide
from canton.policy.permissions import PERMISSIONS
from canton.policy.roles import Roles
from canton.store.database import Database, now
from canton.store.listing import Window, fetch, visible_to
from canton.store.schema import plan
from unit.test_policy import NOW, TENANTS, worlds

PLACES = st.one_of(st.none(), st.sampled_from(TENANTS))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds(), permission=st.sampled_from(sorted(PERMISSIONS)), owners=st.lists(PLACES, max_size=12))
def test_a_list_holds_exactly_what_policy_lets_one_see(
    database: Database, world: tuple[Roles, Principal], permission: str, owners: list[str | None]
) -> None:
    roles, who = world
    caller = Caller(who, cast("Services", None), "-", NOW, lambda _connection: who)
    rows: list[dict[str, str | None]] = [
        {"digest": f"{n:04}", "body": "", "tenant": owner} for n, owner in enumerate(owners)
    ]
    with database.engine.connect() as connection:
        if rows:
            connection.execute(sa.insert(plan).values(created_at=now()), rows)
        query = sa.select(plan.c.tenant).where(visible_to(caller.visible(permission), plan.c.tenant))
        page = fetch(connection, query, Window(100, "digest"), {"digest": plan.c.digest}, plan.c.digest)
        connection.rollback()
    digests = {row["key0"] for row in page.rows}
    allowed = {
        str(row["digest"]) for row in rows if decide(who, Question(permission, row["tenant"]), roles, NOW).allowed
    }
    assert digests == allowed


def test_an_empty_scope_is_nothing_and_never_everything(database: Database) -> None:
    with database.write() as connection:
        for digest, owner in (("1", "psi"), ("2", None)):
            connection.execute(sa.insert(plan).values(digest=digest, body="", tenant=owner, created_at=now()))
        for visible, expected in ((frozenset[str](), []), (frozenset({"psi"}), ["1"]), (None, ["1", "2"])):
            query = sa.select(plan.c.digest).where(visible_to(visible, plan.c.tenant)).order_by(plan.c.digest)
            assert list(connection.scalars(query)) == expected
