"""Nodes from a file, through the API: all of them or none, and every wrong row named at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from api.conftest import Api, Reply, serving
from canton.api.services import Services
from canton.policy.roles import BUILTIN, custom
from devices import contents
from tokens import Mint


@pytest.fixture
def alps(admin: Api) -> Api:
    assert admin.post("/v1/sites", {"name": "alps"}).status == 201
    return admin


def load(
    api: Api,
    *rows: Any,
    site: str = "alps",
    suffix: str = "",
    renumber: bool = False,
    reason: str | None = "a test",
) -> Reply:
    return api.post(f"/v1/nodes/import{suffix}", {"site": site, "nodes": list(rows), "renumber": renumber}, reason)


def row(n: int, **facts: Any) -> dict[str, Any]:
    return {"xname": f"x1000c0s{n}b0n0", **facts}


def facts(api: Api) -> dict[str, tuple[Any, ...]]:
    names = ("nid", "site", "state", "power", "version")
    return {node["xname"]: tuple(node[name] for name in names) for node in api.get("/v1/nodes").json["items"]}


def test_nodes_are_added_changed_and_left_alone(alps: Api) -> None:
    first = load(alps, row(0, nid=10), row(1, state="free"), {"xname": " X1000C0S02B0N0 ", "nid": 12})
    assert first.status == 200
    assert first.json == {"added": 3, "changed": 0, "unchanged": 0, "nodes": "x1000c0s[0-2]b0n0"}
    assert facts(alps) == {
        "x1000c0s0b0n0": (10, "alps", "discovered", None, 1),
        "x1000c0s1b0n0": (None, "alps", "free", None, 1),
        "x1000c0s2b0n0": (12, "alps", "discovered", None, 1),
    }
    second = load(alps, row(0), row(1, nid=11, state="free"), row(2, nid=12), row(3))
    assert second.json == {"added": 1, "changed": 1, "unchanged": 2, "nodes": "x1000c0s[1,3]b0n0"}
    assert facts(alps) == {
        "x1000c0s0b0n0": (10, "alps", "discovered", None, 1),
        "x1000c0s1b0n0": (11, "alps", "free", None, 2),
        "x1000c0s2b0n0": (12, "alps", "discovered", None, 1),
        "x1000c0s3b0n0": (None, "alps", "discovered", None, 1),
    }


def test_the_same_again_changes_nothing_and_says_so(alps: Api) -> None:
    rows = [row(n, nid=n, state="free") for n in range(3)]
    assert "canton-unchanged" not in load(alps, *rows).headers
    facts_before = facts(alps)
    repeated = load(alps, *rows)
    assert (repeated.headers["canton-unchanged"], repeated.json["unchanged"]) == ("true", 3)
    assert facts(alps) == facts_before


def test_a_dry_run_says_the_same_and_writes_nothing(alps: Api) -> None:
    load(alps, row(0))
    contents_before = contents(alps.services.database)
    planned = load(alps, row(0, nid=2), row(1), suffix="?dry_run=true")
    assert contents(alps.services.database) == contents_before
    assert load(alps, row(0, nid=2), row(1)).json == planned.json


def test_a_dry_run_is_refused_where_the_import_would_be(alps: Api) -> None:
    alps.post("/v1/tenants", {"name": "psi"})
    quota = {"nodes": 1, "open_operations": None, "service_accounts": None}
    assert alps.call("PUT", "/v1/tenants/psi/quota", quota, reason="a test").status == 200
    load(alps, row(9, nid=9))
    for rows, code in (
        ([row(0, tenant="psi"), row(1, tenant="psi")], "quota-exceeded"),
        ([row(9, nid=10)], "conflict"),
        ([row(0, tenant="none")], "conflict"),
        ([row(0, power="on")], "invalid-request"),
    ):
        replies = [load(alps, *rows, suffix=suffix) for suffix in ("?dry_run=true", "")]
        assert [reply.code for reply in replies] == [code, code]
        assert replies[0].json["detail"] == replies[1].json["detail"]
    assert load(alps, row(0, tenant="psi"), suffix="?dry_run=true").json["added"] == 1


@pytest.mark.parametrize(
    ("contradiction", "words"),
    [
        ({"nid": 8}, "x1000c0s0b0n0 has nid 7, not 8"),
        ({"state": "free"}, "x1000c0s0b0n0 is assigned, not free"),
        ({"state": "discovered"}, "x1000c0s0b0n0 is assigned, not discovered"),
        ({"tenant": "cscs"}, "x1000c0s0b0n0 is psi's, not cscs's"),
    ],
)
def test_a_row_that_contradicts_what_is_known_is_named_and_never_called_unchanged(
    alps: Api, contradiction: dict[str, Any], words: str
) -> None:
    for name in ("psi", "cscs"):
        alps.post("/v1/tenants", {"name": name})
    load(alps, row(0, nid=7, tenant="psi"))
    facts_before = facts(alps)
    refusal = load(alps, row(1), row(0, **contradiction))
    assert (refusal.status, refusal.code) == (409, "conflict")
    assert [(mistake["row"], words in mistake["what"]) for mistake in refusal.json["details"]["rows"]] == [(2, True)]
    assert facts(alps) == facts_before


def test_the_power_in_a_file_is_no_observation(alps: Api) -> None:
    refusal = load(alps, row(0, power="on"))
    assert (refusal.status, refusal.json["details"]["rows"][0]["what"]) == (
        400,
        "power: workers read it from the site, so a file cannot set it; leave it out",
    )
    assert facts(alps) == {}


def test_numbers_may_change_hands_when_that_is_said(alps: Api) -> None:
    load(alps, row(0, nid=1), row(1, nid=2), row(2, nid=3))
    swapped = [row(0, nid=2), row(1, nid=1), row(3, nid=3), row(2, nid=4)]
    assert load(alps, *swapped).code == "conflict"
    assert load(alps, *swapped, renumber=True).json["changed"] == 3
    assert {name: node_facts[0] for name, node_facts in facts(alps).items()} == {
        "x1000c0s0b0n0": 2,
        "x1000c0s1b0n0": 1,
        "x1000c0s2b0n0": 4,
        "x1000c0s3b0n0": 3,
    }


def test_every_wrong_row_is_named_and_nothing_is_written(alps: Api) -> None:
    alps.post("/v1/sites", {"name": "bern"})
    load(alps, row(30, nid=30), site="bern")
    load(alps, row(31, nid=31))
    contents_before = contents(alps.services.database)
    refusal = load(
        alps,
        row(0),
        {"xname": "x1000c0s1"},
        {"xname": "x1000c9s0b0n0"},
        {"nid": 5},
        row(4, nid="5"),
        row(5, nid=-1),
        row(6, state="assigned"),
        row(7, colour="red"),
        "x1000c0s8b0n0",
        row(9),
        {"xname": "X1000c0s09b0n0"},
        row(11, nid=7),
        row(12, nid=7),
        row(30),
        row(14, nid=31),
        {**row(15), "\x00": 1},
    )
    assert (refusal.status, refusal.code) == (400, "invalid-request")
    details = refusal.json["details"]
    assert details["count"] == 15
    words_by_row = {mistake["row"]: mistake["what"] for mistake in details["rows"]}
    assert sorted(words_by_row) == list(range(2, 17))
    assert "x1000c0s1 is a ComputeModule, not a node" in words_by_row[2]
    assert "\n" not in words_by_row[3]
    assert "nearest valid form: " in words_by_row[3]
    assert words_by_row[4] == "xname: Field required"
    assert words_by_row[5].startswith("nid: ")
    assert words_by_row[7].startswith("a node cannot be assigned without a tenant; ")
    assert words_by_row[8] == "colour: there is no such field"
    assert words_by_row[10] == words_by_row[11] == "x1000c0s9b0n0 is in 2 rows; name it once"
    assert words_by_row[12] == words_by_row[13] == "nid 7 is in 2 rows; two nodes cannot have the same number"
    assert words_by_row[14] == "x1000c0s30b0n0 is at site bern; a node is imported at its own site"
    assert words_by_row[15] == "nid 31 is x1000c0s31b0n0's; give x1000c0s14b0n0 another"
    contents_after = contents(alps.services.database)
    assert {name for name in contents_before if contents_before[name] != contents_after[name]} == {
        "audit",
        "audit_head",
    }


def test_a_row_of_many_fields_is_one_mistake(alps: Api) -> None:
    """A message for each of 190,000 fields once took 220 MB."""
    refusal = load(alps, row(0), row(1, **{f"field{n}": n for n in range(60)}))
    message = "it has 61 fields; a row can only have xname, nid, state, tenant"
    assert (refusal.status, refusal.code) == (400, "invalid-request")
    assert refusal.json["details"] == {"rows": [{"row": 2, "what": message}], "count": 1}


def test_a_row_nested_without_end_is_refused(alps: Api) -> None:
    deep = b'{"site":"alps","nodes":[' + b"[" * 600 + b"]" * 600 + b"]}"
    assert alps.post("/v1/nodes/import", deep).status == 400


def test_rows_that_only_clash_are_a_conflict(alps: Api) -> None:
    load(alps, row(0, nid=1), row(1, nid=2))
    for rows in ([row(2, nid=1)], [row(1), row(0, nid=2)]):
        refusal = load(alps, *rows)
        assert (refusal.status, refusal.code) == (409, "conflict")


def test_one_wrong_row_is_said_as_one(alps: Api) -> None:
    detail = load(alps, row(0), row(1, state="joining")).json["detail"]
    assert detail.startswith("nothing was imported: row 2 is wrong: state: ")
    assert detail.endswith(". Correct it and import again")
    detail = load(alps, row(0, nid="x"), row(1, state="joining")).json["detail"]
    assert detail.startswith("nothing was imported: 2 rows are wrong, the first is row 1: nid: ")


def test_wrong_rows_are_explained(alps: Api) -> None:
    wrong = (row(0, nid="x"), row(1, state="joining"), row(2, tenant="PSI!"), row(3, nid=-1))
    assert [mistake["what"] for mistake in load(alps, *wrong).json["details"]["rows"]] == [
        "nid: must be a valid integer",
        "state: must be 'discovered', 'free', 'assigned'",
        "tenant: must be a lower-case name of 2 to 32 letters, digits and dashes that begins with a letter and does "
        "not end with a dash",
        "nid: must be greater than or equal to 0",
    ]


def test_of_many_wrong_rows_the_first_hundred_are_reported(alps: Api) -> None:
    details = load(alps, *({"xname": f"nid{n}"} for n in range(250))).json["details"]
    assert (len(details["rows"]), details["rows"][0]["row"], details["count"]) == (100, 1, 250)


def test_the_site_must_be_there(alps: Api) -> None:
    for suffix in ("", "?dry_run=true"):
        refusal = load(alps, row(0), site="bern", suffix=suffix)
        assert (refusal.status, refusal.code) == (404, "unknown-site")
    assert load(alps, row(0), site="No").code == "invalid-request"
    assert alps.post("/v1/nodes/import", {"site": "alps", "nodes": {"xname": "x"}}).code == "invalid-request"


def test_only_the_provider_imports(alps: Api) -> None:
    alps.post("/v1/tenants", {"name": "psi"})
    for suffix in ("", "?dry_run=true"):
        refusal = load(alps.as_("ann", "canton-tenant-admin:psi"), row(0), suffix=suffix)
        assert (refusal.status, refusal.json["details"]["permission"]) == (403, "node.import")
    assert facts(alps) == {}


def test_an_import_is_in_the_audit_and_in_the_events(alps: Api) -> None:
    load(alps, row(0), row(1))
    load(alps, row(0), row(0))
    refusal, done_record, *_ = alps.get("/v1/audit").json["items"]
    assert (refusal["action"], refusal["details"]["outcome"]) == ("node.import", "invalid-request")
    assert (done_record["action"], done_record["subject"], done_record["details"]["nodes"]) == (
        "node.import",
        "site:alps",
        "x1000c0s[0-1]b0n0",
    )
    events = alps.get("/v1/events?subject=site:alps").json["items"]
    assert ("node.imported", 2) in [(event["kind"], event["body"].get("added")) for event in events]


def test_two_imports_at_once_do_not_give_one_number_to_two_nodes(alps: Api) -> None:
    def attempt(n: int) -> tuple[int, str | None]:
        reply = load(alps, *(row(16 * n + slot, nid=slot) for slot in range(16)))
        return reply.status, reply.code

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(pool.map(attempt, (0, 1)))
    assert outcomes == [(200, None), (409, "conflict")]


def test_a_whole_machine_at_once(alps: Api) -> None:
    names = [f"x{1000 + n // 512}c{n // 64 % 8}s{n // 8 % 8}b{n // 4 % 2}n{n % 4}" for n in range(10_000)]
    assert load(alps, *({"xname": name, "nid": n} for n, name in enumerate(names))).json["added"] == 10_000
    swapped = load(alps, *({"xname": name, "nid": n} for n, name in enumerate(reversed(names))), renumber=True)
    assert (swapped.status, swapped.json["changed"]) == (200, 10_000)


VOUCHED = [{"state": "free"}, {"tenant": "psi"}, {"state": "assigned", "tenant": "psi"}]


@pytest.mark.parametrize("vouching", VOUCHED)
def test_to_vouch_for_a_new_node_takes_a_reason(alps: Api, vouching: dict[str, str]) -> None:
    alps.post("/v1/tenants", {"name": "psi"})
    assert load(alps, row(0), row(1, **vouching), reason=None).code == "reason-required"
    assert facts(alps) == {}
    assert load(alps, row(0), row(1, **vouching), reason=None, suffix="?dry_run=true").status == 200
    assert load(alps, row(0), row(1, **vouching)).status == 200
    assert load(alps, row(0, nid=5), row(1, **vouching), reason=None).status == 200, (
        "of a known node nothing is vouched for"
    )


@pytest.mark.parametrize("vouching", VOUCHED)
@pytest.mark.parametrize("suffix", ["", "?dry_run=true"])
def test_where_two_persons_enroll_one_cannot_import_a_free_node(
    services: Services, tokens: Mint, vouching: dict[str, str], suffix: str
) -> None:
    policy = replace(services.settings.policy, two_person=("node.enroll",))
    with serving(replace(services, settings=replace(services.settings, policy=policy)), tokens) as api:
        admin = api.as_("root", "canton-provider-admin")
        admin.post("/v1/sites", {"name": "alps"})
        admin.post("/v1/tenants", {"name": "psi"})
        refusal = load(admin, row(0, **vouching), suffix=suffix)
        assert (refusal.code, refusal.json["details"]["rule"]) == ("forbidden", "two-persons")
        assert "canton node enroll" in refusal.json["detail"]
        assert load(admin, row(0), suffix=suffix).status == 200


def test_who_may_not_enroll_imports_nodes_as_discovered(services: Services, tokens: Mint) -> None:
    importer = custom("importer", "provider", "", ["node.import", "node.read", "site.read"])
    with serving(replace(services, roles={**BUILTIN, "importer": importer}), tokens) as api:
        admin = api.as_("root", "canton-provider-admin")
        admin.post("/v1/sites", {"name": "alps"})
        admin.post("/v1/tenants", {"name": "psi"})
        admin.post("/v1/bindings", {"subject": "test:ida", "role": "importer", "tenant": None})
        ida = api.as_("ida")
        for vouching in VOUCHED:
            refusal = load(ida, row(0, **vouching))
            assert (refusal.code, refusal.json["details"]["permission"]) == ("forbidden", "node.enroll")
        assert load(ida, row(0)).status == 200
