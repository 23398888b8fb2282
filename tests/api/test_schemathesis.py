"""Schemathesis over every route of the API, as whoever may do everything, in all of its phases.

It reads the description that the server gives and asks for what that allows, what it does not allow, and one thing
after another as objects lead from one to the next. Nothing may be a server's error, and every answer must be as
described. The machine is not empty: of every kind of object there are some, and their names are among what is asked
for, so that more is seen than refusals.

``CANTON_TEST_EXAMPLES`` asks for more examples of each route than a test run has time for, and for others each time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from api.conftest import Api
from canton.domain.operation import OperationState
from canton.store import approvals, journal
from canton.store.database import Database

EXAMPLES = "CANTON_TEST_EXAMPLES"
FEW = 15
SECONDS = 600
PHASES = ("examples", "coverage", "fuzzing", "stateful")
CONFIG = """\
[auth.openapi.HTTPBearer]
bearer = "${CANTON_TOKEN}"

[generation]
database = "none"

[checks.positive_data_acceptance]
# That a text is a cursor, a nodeset or an instant to come is more than a schema can say, and whether an entity tag is
# the object's is not the request's to know: such a request is answered 400 or 412 although the schema allows it.
expected-statuses = ["2xx", "304", "400", "403", "404", "409", "412"]

[checks.allow_header_conformance]
enabled = false
[checks.not_a_server_error]
# 503 included: nothing here is too busy to answer.
expected-statuses = ["2xx", "3xx", "4xx"]
"""


class Seeds:
    """Objects of every kind; ``known`` are their names by the parameter that takes them."""

    def __init__(self, admin: Api, database: Database) -> None:
        self.admin = admin
        self.database = database
        self.known: dict[str, list[str]] = {"header.Canton-Reason": ["ticket%2017", "because"]}

    def sow(self) -> Mapping[str, Sequence[str]]:
        self._make("/v1/sites", {"name": "alps"})
        for name in ("psi", "cscs"):
            self._make("/v1/tenants", {"name": name})
        self.known["path.name"] = ["alps", "psi", "cscs"]
        names = [f"x1000c0s{n}b0n0" for n in range(80)]
        nodes = [{"xname": name, "nid": n, "power": "off", "state": "free"} for n, name in enumerate(names)]
        self._make("/v1/nodes/import", {"site": "alps", "nodes": nodes})
        self.known["path.xname"] = names[:5]
        self._orders()
        self._people()
        self._approvals()
        return self.known

    def _orders(self) -> None:
        """Of three operations two have come to where they need a person."""
        made = [self._make("/v1/nodes/power", {"nodes": f"x1000c0s{n}b0n0", "to": "on"}) for n in range(20, 80)]
        with self.database.write() as connection:
            for order in made[:40]:
                journal.set_state(connection, order["id"], OperationState.NEEDS_ATTENTION, {"why": "a step failed"})
        self.known["path.operation_id"] = [order["id"] for order in made]
        self.known["path.digest"] = [order["plan"] for order in made[:3]]

    def _people(self) -> None:
        bound = [
            self._make("/v1/bindings", {"subject": f"test:u{n}", "role": "tenant-viewer", "tenant": "psi"})
            for n in range(20)
        ]
        self.known["path.binding_id"] = [binding["id"] for binding in bound]
        wanted = {"tenant": "psi", "permissions": ["node.read", "node.power"]}
        accounts = [self._make("/v1/service-accounts", {**wanted, "name": f"ci-{n}"})["id"] for n in range(10)]
        self.known["path.account_id"] = accounts
        tokens = [self._make(f"/v1/service-accounts/{account}/tokens", {}) for account in accounts[:5]]
        self.known["path.token_id"] = [token["id"] for token in tokens]

    def _approvals(self) -> None:
        """Those of another person: nobody approves their own."""

        def ask(n: int) -> str:
            wanted = approvals.Wanted("site.create", None, "POST", "/v1/sites", {"name": f"s{n}"}, f"digest {n}", "why")
            with self.database.write() as connection:
                return approvals.ask(connection, "test:rosa", wanted, 3600)

        self.known["path.approval_id"] = [ask(n) for n in range(20)]

    def _make(self, path: str, body: Any) -> Any:
        reply = self.admin.post(path, body)
        assert reply.status < 300, reply.text
        return reply.json


def bindings(known: Mapping[str, Sequence[str]]) -> str:
    """What schemathesis is told of them: half of what it asks for is there."""
    lines = []
    for number, (parameter, values) in enumerate(known.items()):
        lines.append(f'[parameters."{parameter}"]\ndictionary = "known{number}"\nprobability = 0.5')
        lines.append(f"[dictionaries.known{number}]\nvalues = {json.dumps(list(values))}")
    return "\n".join(lines)


def run(api: Api, folder: Path, known: Mapping[str, Sequence[str]]) -> tuple[subprocess.CompletedProcess[str], Any]:
    config, report = folder / "schemathesis.toml", folder / "report.json"
    config.write_text(CONFIG + bindings(known))
    wanted = os.environ.get(EXAMPLES)
    options = ["--max-examples", wanted] if wanted else ["--max-examples", str(FEW), "--generation-deterministic"]
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run", f"{api.url}/openapi.json"),
            *("--phases", ",".join(PHASES), "--report", "json", "--report-json-path", str(report), "--no-color"),
            *options,
        ],
        cwd=folder,
        env={**os.environ, "CANTON_TOKEN": api.token or ""},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return ended, json.loads(report.read_text()) if report.exists() else None


def test_every_route_answers_as_described(
    admin: Api, database: Database, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    known = Seeds(admin, database).sow()
    ended, report = run(admin, tmp_path, known)
    assert ended.returncode == 0, ended.stdout[-20_000:] + ended.stderr[-2_000:]
    assert report["failures"] == []
    assert report["errors"] == []
    assert {name: phase["status"] for name, phase in report["phases"].items()} == dict.fromkeys(PHASES, "success")
    assert report["operations"]["tested"] == len(list(routes(admin)))
    assert never_accepted(report) == []
    record_property("requests by schemathesis, as described", report["test_cases"]["generated"])


def routes(api: Api) -> list[str]:
    paths = api.get("/openapi.json").json["paths"]
    return [f"{method} {path}" for path, methods in paths.items() for method in methods]


def never_accepted(report: Any) -> list[str]:
    """The routes of which nothing but refusals was seen."""
    return sorted(
        route
        for route, phases in report["valid_rates"].items()
        if not sum(phase["accepted"] for phase in phases.values())
    )
