"""Schemathesis over every route of the API, as a caller who may do everything, in all of its phases.

It reads the description that the server gives and asks for what that allows, what it does not allow, and one thing
after another as objects lead from one to the next. Nothing may be a server's error, and every answer must be as
described. The machine is not empty: of every kind of object there are some, and their names are among what is asked
for, so that more is seen than refusals.

``CANTON_TEST_EXAMPLES`` asks for more examples of each route than a test run has time for, and for others each time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from api.conftest import Api
from canton.domain.lifecycle import NodeState
from canton.domain.operation import OperationState
from canton.store.access import approvals
from canton.store.database import Database
from canton.store.operations import journal
from canton.store.schema import node

EXAMPLES = "CANTON_TEST_EXAMPLES"
FEW = 15
SECONDS = 600
PHASES = ("examples", "coverage", "fuzzing", "stateful")
CONFIG = """\
[auth.openapi.HTTPBearer]
bearer = "${CANTON_TOKEN}"

[checks.positive_data_acceptance]
# That a text is a cursor, a nodeset or an instant to come is more than a schema can say, and whether an entity tag is
# the object's is not the request's to know: such a request is answered 400 or 412 although the schema allows it.
expected-statuses = ["2xx", "304", "400", "403", "404", "409", "412"]

[checks.not_a_server_error]
# 503 included: nothing here is too busy to answer.
expected-statuses = ["2xx", "3xx", "4xx"]
"""


class Seeds:
    """Objects of every kind; ``known`` are their names by the parameter that takes them.

    ``apart`` are names that only one route is told, since what it does with an object can be done once.
    """

    def __init__(self, admin: Api, database: Database) -> None:
        self.admin = admin
        self.database = database
        self.known: dict[str, list[str]] = {"header.Canton-Reason": ["ticket%2017", "because"]}
        self.apart: dict[str, dict[str, list[str]]] = {}

    def sow(self) -> None:
        self._make("/v1/sites", {"name": "alps"})
        for name in ("psi", "cscs"):
            self._make("/v1/tenants", {"name": name})
        self.known["path.name"] = ["alps", "psi", "cscs"]
        names = [f"x1000c0s{n}b0n0" for n in range(40)]
        nodes = [{"xname": name, "nid": n, "state": "free"} for n, name in enumerate(names)]
        self._make("/v1/nodes/import", {"site": "alps", "nodes": nodes})
        self.known["path.xname"] = names[:5]
        self.apart["/v1/nodes/import"] = {"body.site": ["alps"], "body.nodes[*].xname": names}
        self._empty()
        self._nodes_to_move()
        self._orders()
        self._people()
        self._accounts()
        self._approvals()

    def _empty(self) -> None:
        """Sites and tenants that can be deleted."""
        names = [f"empty-{n}" for n in range(5)]
        for route in ("/v1/sites", "/v1/tenants"):
            for name in names:
                self._make(route, {"name": name})
            self.apart[f"{route}/{{name}}"] = {"path.name": ["alps", "psi", *names]}

    def _nodes_to_move(self) -> None:
        """For every order of the life cycle, nodes in a state that it takes."""
        states = {"enroll": "discovered", "assign": "free", "maintenance": "free", "release": "assigned"}
        states |= {"retire": "discovered", "delete": "discovered"}
        for chassis, (verb, state) in enumerate(states.items(), 1):
            names = [f"x1000c{chassis}s{n}b0n0" for n in range(10)]
            owner = {"tenant": "psi"} if state == "assigned" else {}
            rows = [{"xname": name, "state": state, **owner} for name in names]
            self._make("/v1/nodes/import", {"site": "alps", "nodes": rows})
            self.apart[f"/v1/nodes/{verb}"] = {"body.nodes": names}
        self.apart["/v1/nodes/assign"]["body.tenant"] = ["psi", "cscs"]
        for verb, reached in (("retire", NodeState.MAINTENANCE), ("delete", NodeState.RETIRED)):
            these = node.c.xname.in_(self.apart[f"/v1/nodes/{verb}"]["body.nodes"])
            with self.database.write() as connection:
                connection.execute(sa.update(node).where(these).values(state=reached))

    def _orders(self) -> None:
        operations = [self._make("/v1/nodes/power", {"nodes": f"x1000c0s{n}b0n0", "to": "on"}) for n in range(20, 40)]
        self.known["path.digest"] = [order["plan"] for order in operations[:3]]
        self.known["path.operation_id"] = names = [order["id"] for order in operations]
        for n, verb in enumerate(("retry", "undo", "abandon")):
            troubled = names[5 * n : 5 * n + 5]
            self.apart[f"/v1/operations/{{operation_id}}/{verb}"] = {"path.operation_id": troubled}
            with self.database.write() as connection:
                for name in troubled:
                    journal.set_state(connection, name, OperationState.NEEDS_ATTENTION, {"why": "a step failed"})

    def _people(self) -> None:
        body = {"role": "tenant-viewer", "tenant": "psi"}
        bound = [self._make("/v1/bindings", {**body, "subject": f"test:u{n}"}) for n in range(20)]
        self.known["path.binding_id"] = [binding["id"] for binding in bound]

    def _accounts(self) -> None:
        body = {"tenant": "psi", "permissions": ["node.read", "node.power"]}
        account_ids = [self._make("/v1/service-accounts", {**body, "name": f"ci-{n}"})["id"] for n in range(10)]
        *self.known["path.account_id"], one = account_ids
        tokens = [self._make(f"/v1/service-accounts/{one}/tokens", {})["id"] for _ in range(10)]
        route = "/v1/service-accounts/{account_id}/tokens/{token_id}"
        self.apart[route] = {"path.account_id": [one], "path.token_id": tokens}

    def _approvals(self) -> None:
        """Approvals that another person asked for: no person approves their own."""

        def ask(n: int) -> str:
            request = approvals.ApprovalRequest(
                "site.create", None, "POST", "/v1/sites", {"name": f"s{n}"}, f"digest {n}", "why"
            )
            with self.database.write() as connection:
                return approvals.ask(connection, "test:rosa", "test:id-of-rosa", request, 3600)

        self.known["path.approval_id"] = approvals_asked = [ask(n) for n in range(20)]
        for verb, mine in (("approve", approvals_asked[:10]), ("refuse", approvals_asked[10:])):
            self.apart[f"/v1/approvals/{{approval_id}}/{verb}"] = {"path.approval_id": mine}

    def _make(self, path: str, body: Any) -> Any:
        reply = self.admin.post(path, body)
        assert reply.status < 300, reply.text
        return reply.json


def told(seeds: Seeds) -> str:
    """The configuration for schemathesis that names the objects; it generates all other values itself."""
    dictionaries: list[str] = []

    def bound(names: list[str], share: float) -> str:
        dictionaries.append(f"d{len(dictionaries)} = {{ values = {json.dumps(names)} }}")
        return f'{{ dictionary = "d{len(dictionaries) - 1}", probability = {share} }}'

    lines = ["[parameters]", *(f'"{parameter}" = {bound(names, 0.5)}' for parameter, names in seeds.known.items())]
    for route, parameters in seeds.apart.items():
        lines += ["[[operations]]", f'include-path = "{route}"']
        lines += [f'parameters."{parameter}" = {bound(names, 0.8)}' for parameter, names in parameters.items()]
    return "\n".join(["[dictionaries]", *dictionaries, *lines])


def amount(setting: str | None) -> str:
    """The settings of a run: a few fixed examples, or with ``setting`` that number of random ones."""
    examples = int(setting or FEW)
    # An example of the last phase is a whole scenario, and it takes many to come by every link.
    return f"""
[generation]
database = "none"
deterministic = {"false" if setting else "true"}
max-examples = {examples}

[phases.stateful.generation]
max-examples = {8 * examples}
"""


def run(api: Api, folder: Path, seeds: Seeds) -> tuple[subprocess.CompletedProcess[str], Any]:
    config, report = folder / "schemathesis.toml", folder / "report.json"
    config.write_text("\n".join([CONFIG, amount(os.environ.get(EXAMPLES)), told(seeds)]))
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{api.url}/openapi.json"),
            *("--phases", ",".join(PHASES), "--report", "json", "--report-json-path", str(report), "--no-color"),
        ],
        cwd=folder,
        env={**os.environ, "CANTON_TOKEN": api.token or ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return ended, json.loads(report.read_text()) if report.exists() else None


@pytest.mark.slow(45)
def test_every_route_answers_as_described(
    admin: Api, database: Database, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seeds = Seeds(admin, database)
    seeds.sow()
    ended, report = run(admin, tmp_path, seeds)
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2_000:]
    assert report["failures"] == []
    assert report["errors"] == []
    assert {name: phase["status"] for name, phase in report["phases"].items()} == dict.fromkeys(PHASES, "success")
    assert report["operations"]["tested"] == len(routes(admin))
    if EXAMPLES not in os.environ:
        # At random, one that needs several things to be right may never come.
        assert never_accepted(report) == []
    record_property("requests by schemathesis, answered as described", report["test_cases"]["generated"])
    record_property("links from answer to request that it followed", links_followed(ended.stdout))


def routes(api: Api) -> list[str]:
    paths = api.get("/openapi.json").json["paths"]
    return [f"{method} {path}" for path, methods in paths.items() for method in methods]


def never_accepted(report: Any) -> list[str]:
    """The routes that answered nothing but refusals."""
    return sorted(
        route
        for route, phases in report["valid_rates"].items()
        if not sum(phase["accepted"] for phase in phases.values())
    )


def links_followed(output: str) -> int:
    """The number of links from one answer to the next request; the report does not contain them."""
    match = re.search(r"API Links: +(\d+) covered", output)
    assert match, output[-5_000:]
    assert int(match[1]), "nothing led from one request to the next"
    return int(match[1])
