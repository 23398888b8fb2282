"""The group of a tenant's administrators in Keycloak."""

from __future__ import annotations

import pytest

from csm_emulator.seed_data.secrets import vault_root
from services.keycloak.administrator import Administrator, administrator
from services.tapms.tenants_client import BLUE, OTHER_GROUP, Tapms

# The tiny machine's own tenant already has the group of blue.
RED = "vcluster-red"
ADMINS = f"{RED}-tenant-admin"


@pytest.fixture
def admin(tapms: Tapms) -> Administrator:
    return administrator(tapms.site)


def test_it_comes_with_the_tenant_and_goes_with_it(tapms: Tapms, admin: Administrator) -> None:
    assert ADMINS not in admin.names("groups")
    tapms.deploy(RED)
    assert admin.names(f"groups/<group {ADMINS}>/role-mappings/realm") == ["tenant-admin"]
    assert admin.get(f"groups/<group {ADMINS}>")["path"] == f"/{ADMINS}"
    tapms.delete(RED)
    tapms.until(None, RED)
    assert ADMINS not in admin.names("groups")


def test_one_that_is_there_stays_as_it_is(tapms: Tapms, admin: Administrator) -> None:
    tapms.deploy(RED)
    assert admin.ask("PUT", f"users/<user user>/groups/<group {ADMINS}>")[0] == 204
    assert tapms.change(RED, childnamespaces=["user"]).ok
    tapms.until("Deployed", RED)
    assert admin.names(f"groups/<group {ADMINS}>/members") == ["user"]
    tapms.deploy(BLUE, tenantresources=[tapms.resource(*tapms.nodes()[2:4], hsmgrouplabel=OTHER_GROUP)])
    assert admin.names(f"groups/<group {BLUE}-tenant-admin>/members") == ["blue-admin"]


def test_keycloak_is_away_for_a_while(tapms: Tapms) -> None:
    fault = tapms.break_("server-error", "keycloak")
    assert tapms.create(RED, tenantkms={"enablekms": True}).status == 201
    tapms.step(120)
    assert tapms.state(RED) == "Deploying"
    assert tapms.retries()[-1] == "keycloak returned a non-200 response listing groups"
    # The operator asks HSM before Keycloak, and Vault after it.
    assert tapms.group() is not None
    assert not has_engine(tapms)
    tapms.site.clear_fault(fault)
    tapms.until("Deployed", RED, most=900)
    assert has_engine(tapms)
    assert ADMINS in administrator(tapms.site).names("groups")


def has_engine(tapms: Tapms) -> bool:
    tenant = tapms.tenant(RED)
    assert tenant is not None
    mount = f"/v1/sys/mounts/cray-tenant-{tenant['metadata']['uid']}"
    return tapms.site.mesh.ask("vault", "GET", mount, headers={"x-vault-token": vault_root(tapms.site.random)}).ok


def test_a_role_that_was_refused_once_is_never_given(tapms: Tapms, admin: Administrator) -> None:
    """The operator finds the group at its next try, and continues."""
    fault = tapms.break_("server-error", "keycloak", status=500, method="POST", path="/role-mappings")
    assert tapms.create(RED).status == 201
    tapms.step(40)
    assert "keycloak returned a non-200 response assigning tenant-admin role" in tapms.retries()
    tapms.site.clear_fault(fault)
    tapms.until("Deployed", RED, most=900)
    assert admin.names(f"groups/<group {ADMINS}>/role-mappings/realm") == []


def test_a_deletion_that_is_refused_is_tried_again(tapms: Tapms, admin: Administrator) -> None:
    tapms.deploy(RED)
    fault = tapms.break_("server-error", "keycloak", status=500, method="DELETE", path="/groups")
    tapms.delete(RED)
    tapms.step(120)
    assert tapms.retries()[-1] == "keycloak returned a non-200 response deleting group"
    assert tapms.state(RED) == "Deleting"
    tapms.site.clear_fault(fault)
    tapms.until(None, RED, most=900)
    assert ADMINS not in admin.names("groups")


def test_a_group_that_cannot_be_looked_for_counts_as_deleted(tapms: Tapms) -> None:
    tapms.deploy(RED)
    fault = tapms.break_("server-error", "keycloak")
    tapms.delete(RED)
    tapms.until(None, RED)
    tapms.site.clear_fault(fault)
    assert ADMINS in administrator(tapms.site).names("groups")
