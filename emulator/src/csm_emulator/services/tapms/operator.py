"""The operator: it makes of a tenant what its spec says, and takes it apart when it is deleted."""

from __future__ import annotations

from contextlib import suppress

from csm_emulator.cluster.service_workloads import TAPMS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.tapms.hsm_client import Hsm
from csm_emulator.services.tapms.keycloak_client import Keycloak
from csm_emulator.services.tapms.kubernetes_client import NAMESPACE, ClusterApi, Failed, Tenant
from csm_emulator.services.tapms.membership import change_groups, change_partitions, take_apart
from csm_emulator.services.tapms.tenant import (
    child_name,
    hooks,
    is_undone,
    namespaces_for_spec,
    namespaces_for_status,
    resources,
    spec_of,
    status_of,
)
from csm_emulator.services.tapms.vault_client import Vault
from csm_emulator.state.scheduler import ActionNotReady
from csm_emulator.transport.external_servers import AnswerPending

FINALIZER = "tapms.hpe.com/finalizer"
STEP = "tapms.reconcile"
_SOON = 1.0
_REQUEUE = 5.0
_LONGEST = 1000.0
"""As controller-runtime waits at most between two tries."""
_WORK = (10.0, 30.0)
"""Seconds that the calls to HSM, Keycloak and Vault take together."""


class Reconciling:
    def __init__(self, context: Context, api: ClusterApi, hsm: Hsm, keycloak: Keycloak, vault: Vault) -> None:
        self._context = context
        self._api = api
        self._hsm = hsm
        self._keycloak = keycloak
        self._vault = vault
        context.scheduler.register(STEP, self._step)

    def admitted(self, name: str) -> None:
        """Something about a tenant is about to change."""
        self._context.scheduler.after(_SOON, STEP, name, "look", 0)

    def _step(self, name: str, step: str, tries: int) -> None:
        if not self._context.cluster.runs(TAPMS_OPERATOR):
            self._context.scheduler.after(_REQUEUE, STEP, name, step, tries)
            return
        try:
            self._do(name, step)
        except AnswerPending as unheard:
            self._context.external_servers.fetch(unheard.question)
            raise ActionNotReady from unheard
        except Failed as failed:
            self._context.log.add("tapms-retry", name, str(failed), step=step)
            self._context.scheduler.after(min(_REQUEUE * 2 ** min(tries, 10), _LONGEST), STEP, name, step, tries + 1)
        self._context.external_servers.clear()

    def _do(self, name: str, step: str) -> None:
        """Whatever was to be done, the tenant may be another by now."""
        tenant = self._api.tenant(name)
        if tenant is None:
            return
        if tenant["metadata"].get("deletionTimestamp"):
            self._take_down(tenant, step)
        elif is_undone(tenant) or FINALIZER not in _finalizers(tenant):
            self._set_up(tenant, step)

    def _later(self, name: str, step: str, seconds: float) -> None:
        self._context.scheduler.after(seconds, STEP, name, step, 0)

    def _work(self, tenant: Tenant) -> float:
        meta = tenant["metadata"]
        return self._context.random.between(*_WORK, "tapms", meta["name"], meta.get("resourceVersion", ""))

    def _set_up(self, tenant: Tenant, step: str) -> None:
        name = tenant["metadata"]["name"]
        if spec_of(tenant).get("state") == "New":
            tenant = self._api.put(_with_state(tenant, "Deploying"))
        if not self._makes_namespaces(tenant):
            self._later(name, step, _REQUEUE)
        elif step == "look":
            self._later(name, "deploy", self._work(tenant))
        else:
            self._deploy(tenant)

    def _makes_namespaces(self, tenant: Tenant) -> bool:
        """Whether all are asked for: a child can be when its parent is there."""
        spec = spec_of(tenant)
        parent = spec["tenantname"]
        return self._api.anchor(NAMESPACE, parent) and all(
            self._api.anchor(parent, child_name(parent, child)) for child in spec.get("childnamespaces") or ()
        )

    def _deploy(self, tenant: Tenant) -> None:
        change_partitions(self._hsm, tenant)
        change_groups(self._hsm, tenant)
        self._keycloak.ensure(spec_of(tenant)["tenantname"])
        kms = self._key(tenant)
        self._drop_namespaces(tenant)
        spec, before = spec_of(tenant), status_of(tenant)
        status = {
            **before,
            "childnamespaces": namespaces_for_status(spec),
            "tenantresources": resources(spec),
            "tenanthooks": hooks(spec),
            "uuid": before.get("uuid") or tenant["metadata"].get("uid", ""),
            "tenantkms": kms,
        }
        tenant = self._api.put({**tenant, "status": status}, "/status")
        finalizers = [*(one for one in _finalizers(tenant) if one != FINALIZER), FINALIZER]
        tenant = {**tenant, "metadata": {**tenant["metadata"], "finalizers": finalizers}}
        self._api.put(_with_state(tenant, "Deployed"))

    def _key(self, tenant: Tenant) -> Json:
        wanted, known = spec_of(tenant).get("tenantkms") or {}, status_of(tenant).get("tenantkms") or {}
        if not wanted.get("enablekms"):
            return known
        uuid = status_of(tenant).get("uuid") or tenant["metadata"].get("uid", "")
        engine = known.get("transitname") or f"cray-tenant-{uuid}"
        key, kind = wanted.get("keyname", "key1"), wanted.get("keytype", "rsa-3072")
        public = self._vault.ensure(engine, spec_of(tenant)["tenantname"], key, kind)
        # What is noted once stays, also when somebody turns the key.
        return {"transitname": engine, "keyname": key, "keytype": kind, "publickey": public, **known}

    def _drop_namespaces(self, tenant: Tenant) -> None:
        spec = spec_of(tenant)
        parent = spec["tenantname"]
        there = namespaces_for_spec(status_of(tenant).get("childnamespaces") or ())
        for child in there:
            if child not in (spec.get("childnamespaces") or ()):
                with suppress(Failed):
                    self._api.remove_anchor(parent, child_name(parent, child))

    def _take_down(self, tenant: Tenant, step: str) -> None:
        name = tenant["metadata"]["name"]
        if spec_of(tenant).get("state") != "Deleting":
            tenant = self._api.put(_with_state(tenant, "Deleting"))
        if FINALIZER not in _finalizers(tenant):
            return
        if step != "finalize":
            self._later(name, "finalize", self._work(tenant))
            return
        if not self._removes_namespaces(tenant):
            self._later(name, "finalize", _REQUEUE)
            return
        take_apart(self._hsm, tenant)
        self._keycloak.remove(spec_of(tenant)["tenantname"])
        if engine := (status_of(tenant).get("tenantkms") or {}).get("transitname"):
            self._vault.remove(engine)
        finalizers = [one for one in _finalizers(tenant) if one != FINALIZER]
        self._api.put({**tenant, "metadata": {**tenant["metadata"], "finalizers": finalizers}})

    def _removes_namespaces(self, tenant: Tenant) -> bool:
        spec = spec_of(tenant)
        parent = spec["tenantname"]
        for child in spec.get("childnamespaces") or ():
            self._api.remove_anchor(parent, child_name(parent, child))
        return self._api.remove_anchor(NAMESPACE, parent)


def _finalizers(tenant: Tenant) -> list[str]:
    return list(tenant["metadata"].get("finalizers") or ())


def _with_state(tenant: Tenant, state: str) -> Tenant:
    return {**tenant, "spec": {**spec_of(tenant), "state": state}}
