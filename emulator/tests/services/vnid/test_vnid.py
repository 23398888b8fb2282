"""VNIs for services, jobs and their steps: a VNI has one owner."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply
from service_client import GARBAGE, Service, Spy, reopen

WLM = {"partitionName": "WLM", "description": "Default partition", "vniFirst": 2048, "vniLast": 2057}


@pytest.fixture
def vnid(site: Site) -> Service:
    return _opened(site)


def _opened(site: Site) -> Service:
    service = Service(site, "vnid", "/fabric")
    if service.ask("GET", "/vnis/WLM").status == 404:
        assert service.ask("POST", "/vnis", WLM).status == 200
    return service


def reserve(vnid: Service, **fields: Any) -> dict[str, Any]:
    reply = vnid.ask("POST", "/vnis/WLM/vnis", {"vniCount": 1, **fields})
    assert reply.status == 200, reply.body
    reservation: dict[str, Any] = reply.json()
    return reservation


def numbers(links: list[str]) -> list[int]:
    assert all(link.startswith("/fabric/vnis/WLM/vnis/") for link in links)
    return [int(link.rsplit("/", 1)[1]) for link in links]


def test_a_partition_is_read_back_as_it_was_written(vnid: Service) -> None:
    partition = vnid.get("/vnis/WLM")
    assert {name: partition[name] for name in WLM} == WLM
    assert partition["vniLimit"] == 10
    assert (partition["vniLink"], partition["documentSelfLink"]) == ("/fabric/vnis/WLM/vnis", "/fabric/vnis/WLM")
    assert vnid.get("/vnis") == {"documentSelfLinks": ["/fabric/vnis/WLM"]}


@pytest.mark.parametrize(
    ("change", "status", "detail"),
    [
        ({}, 409, "Partition WLM already exists"),
        ({"partitionName": "two"}, 409, "VNI range 2048-2057 overlaps partition WLM"),
        (
            {"partitionName": "two", "vniFirst": 2057, "vniLast": 3000},
            409,
            "VNI range 2057-3000 overlaps partition WLM",
        ),
        ({"partitionName": "two", "vniFirst": 1, "vniLast": 2048}, 409, "VNI range 1-2048 overlaps partition WLM"),
        ({"partitionName": "two", "vniFirst": 2050, "vniLast": 2040}, 400, "Invalid VNI range 2050-2040"),
        ({"partitionName": "two", "vniFirst": 0}, 400, "Invalid VNI range 0-2057"),
        ({"partitionName": "two", "vniFirst": 1, "vniLast": 65_536}, 400, "Invalid VNI range 1-65536"),
        ({"partitionName": "a/b"}, 400, "Invalid partition name 'a/b'"),
        ({"partitionName": ".."}, 400, "Invalid partition name '..'"),
        ({"partitionName": 5}, 400, "Parameter partitionName must be a string"),
        ({"vniFirst": True}, 400, "Parameter vniFirst must be an integer"),
        ({"vniFirst": None}, 400, "Missing required parameter vniFirst"),
    ],
)
def test_partitions_never_overlap(vnid: Service, change: dict[str, Any], status: int, detail: str) -> None:
    assert vnid.refusal("POST", "/vnis", {**WLM, **change}) == (status, detail)
    assert vnid.get("/vnis") == {"documentSelfLinks": ["/fabric/vnis/WLM"]}


def test_partitions_may_touch(vnid: Service) -> None:
    assert vnid.ask("POST", "/vnis", {**WLM, "partitionName": "b c", "vniFirst": 2058, "vniLast": 2058}).status == 200
    assert vnid.get("/vnis/b%20c")["documentSelfLink"] == "/fabric/vnis/b%20c"
    assert vnid.ask("POST", "/vnis", {**WLM, "partitionName": "d", "vniFirst": 2047, "vniLast": 2047}).status == 200


def test_vnis_run_out_and_come_back(vnid: Service) -> None:
    first = numbers(reserve(vnid, vniCount=4)["documentSelfLinks"])
    assert first == [2048, 2049, 2050, 2051]
    assert vnid.refusal("POST", "/vnis/WLM/vnis", {"vniCount": 7}) == (
        409,
        "Not enough VNIs available in partition WLM",
    )
    assert vnid.ask("DELETE", "/vnis/WLM/vnis/2049").json() == {}
    # A released VNI is the last to be allocated again.
    assert numbers(reserve(vnid, vniCount=7)["documentSelfLinks"]) == [2052, 2053, 2054, 2055, 2056, 2057, 2049]
    assert len(set(numbers(vnid.get("/vnis/WLM/vnis")["documentSelfLinks"]))) == 10
    assert vnid.refusal("POST", "/vnis/WLM/vnis", {"vniCount": 1})[0] == 409
    assert vnid.refusal("DELETE", "/vnis/WLM/vnis/1") == (404, "VNI 1 not found in partition WLM")
    assert vnid.refusal("GET", "/vnis/WLM/vnis/x") == (400, "Invalid VNI 'x'")


def test_a_service_may_choose(vnid: Service) -> None:
    assert numbers(reserve(vnid, isService=True, vni=2055, description="daos")["documentSelfLinks"]) == [2055]
    assert vnid.get("/vnis/WLM/vnis/2055") == {
        "VNI": 2055,
        "description": "daos",
        "isService": True,
        "jobVNI": False,
        "jobID": None,
    }
    for body, message in [
        ({"vniCount": 1, "isService": True, "vni": 2055}, (409, "VNI 2055 is already reserved")),
        ({"vniCount": 1, "isService": True, "vni": 2047}, (400, "VNI 2047 is outside partition WLM")),
        ({"vniCount": 1, "vni": 2056}, (400, "vni is only allowed if isService is true")),
        ({"vniCount": 2, "isService": True}, (400, "vniCount must be 1 if isService is true")),
        ({"vniCount": 0}, (400, "vniCount must be at least 1")),
        ({}, (400, "Missing required parameter vniCount")),
        ({"vniCount": 1, "pools": ["none"]}, (400, "Pool none not found in partition WLM")),
        ({"vniCount": 1, "pools": []}, (400, "pools must have 1 elements")),
        ({"vniCount": 1, "pools": [{}]}, (400, "Pool {} not found in partition WLM")),
        ({"vniCount": 1, "jobID": "none"}, (404, "Job none not found in partition WLM")),
    ]:
        assert vnid.refusal("POST", "/vnis/WLM/vnis", body) == message
    assert vnid.refusal("POST", "/vnis/none/vnis", {"vniCount": 1}) == (404, "Partition none not found")


def test_pools_serve_requests_that_name_them(vnid: Service) -> None:
    pool = {"name": "apps", "vniFirst": 2048, "vniLast": 2049}
    assert vnid.ask("POST", "/vnis/WLM/pools", pool).json() == {**pool, "unreserved": 2, "poolType": "applications"}
    assert numbers(reserve(vnid)["documentSelfLinks"]) == [2050]
    assert numbers(reserve(vnid, vniCount=2, pools=["apps", "apps"])["documentSelfLinks"]) == [2048, 2049]
    assert vnid.get("/vnis/WLM/vnis/2048")["pool"] == "apps"
    assert vnid.get("/vnis/WLM/pools/apps")["unreserved"] == 0
    for method, path, body, message in [
        ("POST", "/vnis", {"vniCount": 1, "pools": ["apps"]}, (409, "Not enough VNIs available in pool apps")),
        ("POST", "/pools", pool, (409, "Pool apps already exists")),
        ("POST", "/pools", {**pool, "name": "b"}, (409, "VNI range 2048-2049 overlaps pool apps")),
        ("POST", "/pools", {**pool, "name": "b", "vniFirst": 1}, (400, "VNI range 1-2049 is outside partition WLM")),
        (
            "POST",
            "/pools",
            {"name": "b", "vniFirst": 2050, "vniLast": 2051},
            (409, "VNIs in range 2050-2051 are in use"),
        ),
        ("POST", "/pools", {**pool, "name": "b", "poolType": "x"}, (400, "Invalid poolType 'x'")),
        ("DELETE", "/pools/apps", None, (409, "VNIs in pool apps are in use")),
        ("GET", "/pools/b", None, (404, "Pool b not found in partition WLM")),
    ]:
        assert vnid.refusal(method, f"/vnis/WLM{path}", body) == message
    for vni in (2048, 2049):
        vnid.ask("DELETE", f"/vnis/WLM/vnis/{vni}")
    assert vnid.ask("DELETE", "/vnis/WLM/pools/apps").json() == {}
    assert vnid.get("/vnis/WLM/pools") == {"documentSelfLinks": []}


def test_a_job_and_its_steps(vnid: Service) -> None:
    job_body = {"jobID": "Job 1", "UID": 1000, "vniLimit": 3, "trafficClasses": {"bulk_data": True}}
    job = vnid.ask("POST", "/vnis/WLM/jobs", job_body).json()
    assert numbers(job["VNIs"]) == [2048]
    classes = {"best_effort": True, "low_latency": True, "bulk_data": True, "dedicated_access": False}
    step = reserve(vnid, jobID="Job 1", UID=1000, jobStepID="s0", vniCount=2)
    assert step == {
        "documentSelfLinks": ["/fabric/vnis/WLM/vnis/2049", "/fabric/vnis/WLM/vnis/2050"],
        "jobVNI": 2048,
        "trafficClasses": classes,
        "collectivesToken": None,
    }
    assert vnid.get("/vnis/WLM/vnis/2049")["jobStepID"] == "s0"
    assert vnid.get("/vnis/WLM/vnis/2048")["jobVNI"] is True
    assert numbers(vnid.get("/vnis/WLM/jobs/Job%201")["jobStepVNIs"]) == [2049, 2050]
    assert vnid.get("/vnis/WLM/jobs") == {"documentSelfLinks": ["/fabric/vnis/WLM/jobs/Job%201"]}
    assert vnid.refusal("POST", "/vnis/WLM/vnis", {"vniCount": 1, "jobID": "Job 1"}) == (
        409,
        "Job Job 1 may not reserve more than 3 VNIs",
    )
    assert vnid.refusal("POST", "/vnis/WLM/vnis", {"vniCount": 1, "jobID": "Job 1", "UID": 0}) == (
        403,
        "Job Job 1 does not belong to UID 0",
    )
    assert vnid.refusal("POST", "/vnis/WLM/jobs", job_body)[0] == 409
    vnid.ask("DELETE", "/vnis/WLM/vnis/2050")
    assert numbers(vnid.get("/vnis/WLM/jobs/Job%201")["jobStepVNIs"]) == [2049]
    assert vnid.ask("DELETE", "/vnis/WLM/jobs/Job%201").json() == {}
    assert vnid.get("/vnis/WLM/vnis") == {"documentSelfLinks": []}
    assert vnid.refusal("DELETE", "/vnis/WLM/jobs/Job%201")[0] == 404


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"vniCount": 2}, "vniCount must be 0 or 1"),
        ({"vniLimit": 0}, "vniLimit is too small"),
        ({"UID": -1}, "UID must not be negative"),
        ({"mcastLimit": -1}, "mcastLimit and mcastMinNodes must not be negative"),
        ({"trafficClasses": {"best_effort": 1}}, "Invalid traffic class best_effort"),
        ({"trafficClasses": {"fast": True}}, "Invalid traffic class fast"),
        ({"jobID": ""}, "Invalid job ID ''"),
    ],
)
def test_a_job_that_is_none(vnid: Service, change: dict[str, Any], detail: str) -> None:
    assert vnid.refusal("POST", "/vnis/WLM/jobs", {"jobID": "1", "UID": 1, **change}) == (400, detail)
    assert vnid.get("/vnis/WLM/vnis") == {"documentSelfLinks": []}


def test_what_a_step_gets_again_depends_on_the_pool(vnid: Service) -> None:
    for at, kind in enumerate(("applications", "job-steps", "jobs")):
        pool = {"name": kind, "vniFirst": 2048 + 2 * at, "vniLast": 2049 + 2 * at, "poolType": kind}
        assert vnid.ask("POST", "/vnis/WLM/pools", pool).status == 200
    vnid.ask("POST", "/vnis/WLM/jobs", {"jobID": "1", "UID": 1, "vniCount": 0})

    def get(kind: str, step: str, count: int = 1) -> list[int]:
        reservation = reserve(vnid, jobID="1", jobStepID=step, vniCount=count, pools=[kind] * count)
        return numbers(reservation["documentSelfLinks"])

    assert (get("applications", "a"), get("applications", "a")) == ([2048], [2049])
    assert (get("job-steps", "a"), get("job-steps", "b"), get("job-steps", "a")) == ([2050], [2051], [2050])
    assert (get("jobs", "a", 2), get("jobs", "b")) == ([2052, 2052], [2052])
    assert len(vnid.get("/vnis/WLM/jobs/1")["jobStepVNIs"]) == 5


def test_multicast_addresses_come_from_the_fabric_manager(vnid: Service) -> None:
    spy = Spy(vnid.site)
    spy.instead["fabric-manager"] = Reply(200, b'{"sessionToken": "secret"}')
    job_body = {"jobID": "1", "UID": 1, "mcastLimit": 10, "mcastMinNodes": 2}
    job = vnid.ask("POST", "/vnis/WLM/jobs", job_body).json()
    assert (job["collectivesToken"], job["mcastLimit"], job["mcastMinNodes"]) == ("secret", 10, 2)
    assert reserve(vnid, jobID="1")["collectivesToken"] == "secret"
    assert vnid.get("/vnis/WLM/vnis/2049")["collectivesToken"] == "secret"
    vnid.ask("DELETE", "/vnis/WLM/jobs/1")
    assert [(method, path, body) for _, method, path, body in spy.calls] == [
        ("POST", "/fabric/collectives/jobs", {"jobID": "WLM-1", "mcastLimit": 10}),
        ("DELETE", "/fabric/collectives/jobs/WLM-1", None),
    ]
    spy.instead["fabric-manager"] = Reply(503)
    assert vnid.refusal("POST", "/vnis/WLM/jobs", job_body)[0] == 502
    assert vnid.get("/vnis/WLM/vnis") == {"documentSelfLinks": []}


def test_a_partition_takes_all_of_its_own_along(vnid: Service) -> None:
    vnid.ask("POST", "/vnis", {**WLM, "partitionName": "WLM2", "vniFirst": 3000, "vniLast": 3001})
    for partition in ("WLM", "WLM2"):
        vnid.ask("POST", f"/vnis/{partition}/jobs", {"jobID": "1", "UID": 1})
    assert vnid.ask("DELETE", "/vnis/WLM").json() == {}
    assert vnid.get("/vnis/WLM2/jobs/1")["VNIs"] == ["/fabric/vnis/WLM2/vnis/3000"]
    assert vnid.ask("POST", "/vnis", WLM).status == 200
    assert vnid.get("/vnis/WLM/jobs") == {"documentSelfLinks": []}
    assert vnid.get("/vnis/WLM/vnis") == {"documentSelfLinks": []}


def test_status_and_performance(vnid: Service) -> None:
    assert vnid.get("/status") == {"status": "Active", "verbose": 0}
    assert vnid.ask("POST", "/status", {"status": "x", "verbose": 2}).json() == {"status": "Active", "verbose": 2}
    assert vnid.refusal("POST", "/status", {"verbose": 3}) == (400, "verbose must be from 0 to 2")
    reserve(vnid, vniCount=3)
    reserve(vnid)
    reservations, used = vnid.get("/performance")
    assert (reservations["min"], reservations["max"], reservations["average"], reservations["count"]) == (1, 3, 2.0, 2)
    assert (used["min"], used["max"]) == (3, 4)
    assert sum(reservations["buckets"]) == 2
    assert len(reservations["buckets"]) == len(reservations["dividers"]) + 1
    assert vnid.ask("DELETE", "/performance").json() == {}
    assert vnid.get("/performance")[0]["count"] == 0
    vnid.ask("POST", "/vnis/WLM/jobs", {"jobID": "1", "UID": 1})
    assert vnid.ask("DELETE", "/status").json() == {}
    assert vnid.get("/vnis/WLM/vnis") == vnid.get("/vnis/WLM/jobs") == {"documentSelfLinks": []}


def test_a_restart_changes_nothing(vnid: Service) -> None:
    vnid.ask("POST", "/vnis/WLM/jobs", {"jobID": "1", "UID": 1})
    reserve(vnid, jobID="1", vniCount=2)
    vnid.ask("DELETE", "/vnis/WLM/vnis/2049")
    replies_before = [vnid.get(path) for path in ("/vnis/WLM/vnis", "/vnis/WLM/jobs/1", "/performance")]
    reopened_vnid = Service(reopen(vnid.site), "vnid", "/fabric")
    assert [
        reopened_vnid.get(path) for path in ("/vnis/WLM/vnis", "/vnis/WLM/jobs/1", "/performance")
    ] == replies_before
    assert numbers(reserve(reopened_vnid)["documentSelfLinks"]) == [2051]


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_is_a_problem(vnid: Service, body: bytes) -> None:
    for path in ("/vnis", "/vnis/WLM/vnis", "/vnis/WLM/pools", "/vnis/WLM/jobs"):
        assert vnid.refusal("POST", path, body)[0] == 400
    assert vnid.refusal("PUT", "/vnis", body)[0] == 405
    assert vnid.refusal("GET", "/none")[0] == 404


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["reserve", "release", "job", "end"]), st.integers(0, 4)), max_size=30))
def test_a_vni_has_one_owner(vnid: Service, steps: list[tuple[str, int]]) -> None:
    """After any sequence of requests, the reserved VNIs are those that were assigned and not released."""
    vnid.ask("DELETE", "/status")
    owners: dict[int, str] = {}
    for what, number in steps:
        owner = f"j{number}"
        if what == "reserve":
            reply = vnid.ask("POST", "/vnis/WLM/vnis", {"vniCount": number + 1})
            new = numbers(reply.json()["documentSelfLinks"]) if reply.ok else []
            assert reply.ok == (len(owners) + number + 1 <= 10)
        elif what == "job":
            reply = vnid.ask("POST", "/vnis/WLM/jobs", {"jobID": owner, "UID": 0})
            new = numbers(reply.json()["VNIs"]) if reply.ok else []
        elif what == "release":
            released = [vni for vni in owners if vni == 2048 + number]
            new = []
            assert vnid.ask("DELETE", f"/vnis/WLM/vnis/{2048 + number}").ok == bool(released)
            owners = {vni: who for vni, who in owners.items() if vni not in released}
        else:
            new = []
            vnid.ask("DELETE", f"/vnis/WLM/jobs/{owner}")
            owners = {vni: who for vni, who in owners.items() if who != owner}
        assert not set(new) & set(owners)
        owners |= dict.fromkeys(new, owner if what == "job" else "")
        assert set(numbers(vnid.get("/vnis/WLM/vnis")["documentSelfLinks"])) == set(owners)


def test_sixty_thousand(site: Site) -> None:
    vnid = Service(site, "vnid", "/fabric")
    vnid.ask("POST", "/vnis", {**WLM, "vniFirst": 1024, "vniLast": 65_535})
    assert len(reserve(vnid, vniCount=64_511)["documentSelfLinks"]) == 64_511
    assert len(numbers(reserve(vnid)["documentSelfLinks"])) == 1
    assert site.ask("vnid", Call("POST", "/fabric/vnis/WLM/vnis", body=b'{"vniCount":1}')).status == 409
