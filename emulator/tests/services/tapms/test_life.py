"""A tenant's life: the objects that the operator creates, and those that stay after the deletion."""

from __future__ import annotations

import pytest

from services.tapms.tenants_client import BLUE, GREEN, GROUP, OTHER_GROUP, PATH, Tapms


def test_from_new_to_deployed(tapms: Tapms) -> None:
    created = tapms.create()
    assert created.status == 201, created.body
    assert created.json()["spec"]["state"] == "New"
    assert tapms.group() is None
    tapms.until("Deploying")
    took = tapms.until("Deployed")
    assert 5 < took < 60


def test_what_there_is_then(tapms: Tapms) -> None:
    tenant = tapms.deploy()
    group = tapms.group()
    assert group is not None
    assert (group["exclusiveGroup"], group["tags"]) == ("tapms-exclusive-group-label", [BLUE])
    assert tapms.members() == tapms.nodes()[:2]
    assert tenant["metadata"]["finalizers"] == ["tapms.hpe.com/finalizer"]
    status = tenant["status"]
    assert status["childnamespaces"] == [f"{BLUE}-slurm", f"{BLUE}-user"]
    assert status["tenantresources"] == [tapms.resource()]
    assert status["uuid"] == tenant["metadata"]["uid"]
    assert [name for name in (BLUE, f"{BLUE}-slurm", f"{BLUE}-user") if not tapms.has_namespace(name)] == []


def test_nothing_goes_on_afterwards(tapms: Tapms) -> None:
    tenant = tapms.deploy()
    tapms.step(3600)
    assert tapms.tenant() == tenant
    assert tapms.site.scheduler.next_moment() is None or tapms.retries() == []


def test_a_group_that_is_not_exclusive(tapms: Tapms) -> None:
    tapms.deploy(tenantresources=[tapms.resource(enforceexclusivehsmgroups=False)])
    group = tapms.group()
    assert group is not None
    assert not group.get("exclusiveGroup")


def test_a_partition(tapms: Tapms) -> None:
    resource = tapms.resource(hsmpartitionname="p7")
    del resource["hsmgrouplabel"]
    tapms.deploy(tenantresources=[resource])
    partition = tapms.hsm("GET", "/partitions/p7").json()
    assert (sorted(partition["members"]["ids"]), partition["tags"]) == (resource["xnames"], [BLUE])
    assert tapms.change(tenantresources=[{**resource, "xnames": tapms.nodes()[1:3]}]).ok
    tapms.step(60)
    assert sorted(tapms.hsm("GET", "/partitions/p7").json()["members"]["ids"]) == tapms.nodes()[1:3]
    tapms.delete()
    tapms.step(60)
    assert tapms.hsm("GET", "/partitions/p7").status == 404


def test_nodes_come_and_go(tapms: Tapms) -> None:
    tapms.deploy()
    nodes = tapms.nodes()
    changed = tapms.change(tenantresources=[tapms.resource(*nodes[1:4])])
    assert changed.json()["spec"]["state"] == "Deploying"
    assert tapms.members() == nodes[:2]
    tapms.until("Deployed")
    assert tapms.members() == nodes[1:4]
    tenant = tapms.tenant()
    assert tenant is not None
    assert tenant["status"]["tenantresources"][0]["xnames"] == nodes[1:4]


def test_another_type_joins_the_group_and_leaves_it(tapms: Tapms) -> None:
    tapms.deploy()
    applications = tapms.nodes("Application")[:1]
    both = [tapms.resource(), tapms.resource(*applications, type="application")]
    assert tapms.change(tenantresources=both).ok
    tapms.until("Deployed")
    assert tapms.members() == sorted([*tapms.nodes()[:2], *applications])
    assert tapms.change(tenantresources=both[:1]).ok
    tapms.until("Deployed")
    assert tapms.members() == tapms.nodes()[:2]


def test_child_namespaces_come_and_go(tapms: Tapms) -> None:
    tapms.deploy()
    assert tapms.change(childnamespaces=["user", "pbs"]).ok
    tapms.until("Deployed")
    tapms.step(30)
    assert tapms.has_namespace(f"{BLUE}-pbs")
    assert tapms.has_namespace(f"{BLUE}-user")
    assert not tapms.has_namespace(f"{BLUE}-slurm")


def test_it_goes_without_a_trace(tapms: Tapms) -> None:
    tapms.deploy()
    assert tapms.delete().ok
    assert tapms.tenant() is not None
    tapms.until("Deleting")
    took = tapms.until(None)
    assert 5 < took < 60
    tapms.step(60)
    assert tapms.group() is None
    assert [name for name in (BLUE, f"{BLUE}-slurm", f"{BLUE}-user") if tapms.has_namespace(name)] == []
    tapms.deploy()


@pytest.mark.parametrize("seconds", [0.5, 3.0, 12.0])
def test_a_restart_on_the_way(tapms: Tapms, seconds: float) -> None:
    assert tapms.create().status == 201
    tapms.step(seconds)
    tapms.again()
    tapms.until("Deployed")
    assert tapms.members() == tapms.nodes()[:2]
    tapms.delete()
    tapms.step(seconds)
    tapms.again()
    tapms.until(None)
    assert tapms.group() is None


def test_deleted_before_it_is_deployed_it_leaves_what_was_made(tapms: Tapms) -> None:
    """The finalizer is the last, as in the real service."""
    assert tapms.create().status == 201
    tapms.step(3)
    tapms.delete()
    tapms.step(60)
    assert tapms.tenant() is None
    assert tapms.has_namespace(BLUE)


def test_without_child_namespaces_it_is_never_deployed(tapms: Tapms) -> None:
    """The real service takes an empty list for a change."""
    assert tapms.create(childnamespaces=[]).status == 201
    tapms.step(300)
    assert tapms.state() == "Deploying"
    assert tapms.members() == tapms.nodes()[:2]
    tenant_before = tapms.tenant()
    tapms.step(3600)
    assert tapms.tenant() == tenant_before


def test_hsm_is_away_for_a_while(tapms: Tapms) -> None:
    assert tapms.create().status == 201
    fault = tapms.break_("server-error", "smd")
    tapms.step(120)
    assert tapms.state() in ("New", "Deploying")
    assert tapms.retries() != []
    tapms.site.clear_fault(fault)
    tapms.until("Deployed", most=900)


def test_a_member_that_hsm_does_not_take_is_tried_again(tapms: Tapms) -> None:
    tapms.deploy()
    third = tapms.nodes()[2]
    fault = tapms.break_("server-error", "smd", status=500, method="POST", path="/members")
    assert tapms.change(tenantresources=[tapms.resource(*tapms.nodes()[:3])]).status == 200
    tapms.step(60)
    assert tapms.retries()[-1] == f"HSM returned a non-200 response adding member {third} for group {GROUP}"
    assert third not in tapms.members()
    tapms.site.clear_fault(fault)
    tapms.until("Deployed", most=600)
    assert third in tapms.members()


def test_changes_that_hsm_has_already_are_accepted(tapms: Tapms) -> None:
    tapms.deploy()
    first, second, third = tapms.nodes()[:3]
    assert tapms.hsm("DELETE", f"/groups/{GROUP}/members/{first}").ok
    assert tapms.hsm("POST", f"/groups/{GROUP}/members", {"id": third}).ok
    assert tapms.change(tenantresources=[tapms.resource(second, third)]).status == 200
    tapms.until("Deployed")
    assert tapms.retries() == []
    assert tapms.members() == [second, third]


def test_a_partition_that_hsm_does_not_take(tapms: Tapms) -> None:
    assert tapms.create(tenantresources=[tapms.resource(hsmpartitionname="blue")]).status == 201
    tapms.step(300)
    assert tapms.state() == "Deploying"
    assert tapms.retries()[-1] == "HSM returned a non-200 response creating partition"


def test_two_tenants(tapms: Tapms) -> None:
    tapms.deploy()
    third = tapms.nodes()[2]
    tapms.deploy(GREEN, tenantresources=[tapms.resource(third, hsmgrouplabel=OTHER_GROUP)])
    assert (tapms.members(), tapms.members(OTHER_GROUP)) == (tapms.nodes()[:2], [third])
    tapms.delete()
    tapms.until(None)
    assert tapms.members(OTHER_GROUP) == [third]
    assert [one["metadata"]["name"] for one in tapms.kubernetes("GET", f"{PATH}/tenants").json()["items"]] == [GREEN]
