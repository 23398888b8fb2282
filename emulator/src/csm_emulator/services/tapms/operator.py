"""The operator: it sets tenants up by their specs, and removes what belongs to a deleted tenant."""

from __future__ import annotations

from contextlib import suppress

from csm_emulator.cluster.service_workloads import TAPMS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.tapms.hsm_groups import HsmGroups
from csm_emulator.services.tapms.keycloak_client import KeycloakClient
from csm_emulator.services.tapms.kubernetes_client import NAMESPACE, KubernetesClient, RequestFailed, Tenant
from csm_emulator.services.tapms.membership import change_groups, change_partitions, delete_groups
from csm_emulator.services.tapms.tenant import (
    child_name,
    hooks,
    namespaces_for_spec,
    namespaces_for_status,
    needs_deployment,
    resources,
    spec_of,
    status_of,
)
from csm_emulator.services.tapms.vault_client import VaultClient
from csm_emulator.state.scheduler import ActionNotReady
from csm_emulator.transport.external_servers import AnswerPending

FINALIZER = "tapms.hpe.com/finalizer"
STEP = "tapms.reconcile"
_START_DELAY = 1.0
_REQUEUE = 5.0
_MAX_RETRY_DELAY = 1000.0
"""Seconds: the longest wait of controller-runtime between two attempts."""
_WORK_TIME = (10.0, 30.0)
"""Seconds that the calls to HSM, Keycloak and Vault take together."""


class TenantOperator:
    def __init__(
        self, context: Context, api: KubernetesClient, hsm: HsmGroups, keycloak: KeycloakClient, vault: VaultClient
    ) -> None:
        self._context = context
        self._api = api
        self._hsm = hsm
        self._keycloak = keycloak
        self._vault = vault
        context.scheduler.register(STEP, self._step)

    def admitted(self, name: str) -> None:
        """A change of the tenant was admitted: it is reconciled soon."""
        self._context.scheduler.after(_START_DELAY, STEP, name, "look", 0)

    def _step(self, name: str, step: str, attempts: int) -> None:
        if not self._context.cluster.runs(TAPMS_OPERATOR):
            self._context.scheduler.after(_REQUEUE, STEP, name, step, attempts)
            return
        try:
            self._reconcile(name, step)
        except AnswerPending as unheard:
            self._context.external_servers.fetch(unheard.question)
            raise ActionNotReady from unheard
        except RequestFailed as failed:
            self._context.log.add("tapms-retry", name, str(failed), step=step)
            self._context.scheduler.after(
                min(_REQUEUE * 2 ** min(attempts, 10), _MAX_RETRY_DELAY), STEP, name, step, attempts + 1
            )
        self._context.external_servers.clear()

    def _reconcile(self, name: str, step: str) -> None:
        """Reconciles the tenant as it is now, which may differ from the tenant when the step was scheduled."""
        tenant = self._api.tenant(name)
        if tenant is None:
            return
        if tenant["metadata"].get("deletionTimestamp"):
            self._take_down(tenant, step)
        elif needs_deployment(tenant) or FINALIZER not in _finalizers(tenant):
            self._set_up(tenant, step)

    def _schedule(self, name: str, step: str, seconds: float) -> None:
        self._context.scheduler.after(seconds, STEP, name, step, 0)

    def _work_time(self, tenant: Tenant) -> float:
        meta = tenant["metadata"]
        return self._context.random.between(*_WORK_TIME, "tapms", meta["name"], meta.get("resourceVersion", ""))

    def _set_up(self, tenant: Tenant, step: str) -> None:
        name = tenant["metadata"]["name"]
        if spec_of(tenant).get("state") == "New":
            tenant = self._api.put(_with_state(tenant, "Deploying"))
        if not self._request_namespaces(tenant):
            self._schedule(name, step, _REQUEUE)
        elif step == "look":
            self._schedule(name, "deploy", self._work_time(tenant))
        else:
            self._deploy(tenant)

    def _request_namespaces(self, tenant: Tenant) -> bool:
        """Requests the namespaces. False while the parent of a child namespace does not exist."""
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
        spec, status_before = spec_of(tenant), status_of(tenant)
        status = {
            **status_before,
            "childnamespaces": namespaces_for_status(spec),
            "tenantresources": resources(spec),
            "tenanthooks": hooks(spec),
            "uuid": status_before.get("uuid") or tenant["metadata"].get("uid", ""),
            "tenantkms": kms,
        }
        tenant = self._api.put({**tenant, "status": status}, "/status")
        finalizers = [*(finalizer for finalizer in _finalizers(tenant) if finalizer != FINALIZER), FINALIZER]
        tenant = {**tenant, "metadata": {**tenant["metadata"], "finalizers": finalizers}}
        self._api.put(_with_state(tenant, "Deployed"))

    def _key(self, tenant: Tenant) -> Json:
        requested, current = spec_of(tenant).get("tenantkms") or {}, status_of(tenant).get("tenantkms") or {}
        if not requested.get("enablekms"):
            return current
        uuid = status_of(tenant).get("uuid") or tenant["metadata"].get("uid", "")
        engine = current.get("transitname") or f"cray-tenant-{uuid}"
        key, kind = requested.get("keyname", "key1"), requested.get("keytype", "rsa-3072")
        public_keys = self._vault.ensure(engine, spec_of(tenant)["tenantname"], key, kind)
        # Recorded values stay as they are, even if the key is rotated.
        return {"transitname": engine, "keyname": key, "keytype": kind, "publickey": public_keys, **current}

    def _drop_namespaces(self, tenant: Tenant) -> None:
        spec = spec_of(tenant)
        parent = spec["tenantname"]
        current = namespaces_for_spec(status_of(tenant).get("childnamespaces") or ())
        for child in current:
            if child not in (spec.get("childnamespaces") or ()):
                with suppress(RequestFailed):
                    self._api.remove_anchor(parent, child_name(parent, child))

    def _take_down(self, tenant: Tenant, step: str) -> None:
        name = tenant["metadata"]["name"]
        if spec_of(tenant).get("state") != "Deleting":
            tenant = self._api.put(_with_state(tenant, "Deleting"))
        if FINALIZER not in _finalizers(tenant):
            return
        if step != "finalize":
            self._schedule(name, "finalize", self._work_time(tenant))
            return
        if not self._remove_namespaces(tenant):
            self._schedule(name, "finalize", _REQUEUE)
            return
        delete_groups(self._hsm, tenant)
        self._keycloak.remove(spec_of(tenant)["tenantname"])
        if engine := (status_of(tenant).get("tenantkms") or {}).get("transitname"):
            self._vault.remove(engine)
        finalizers = [finalizer for finalizer in _finalizers(tenant) if finalizer != FINALIZER]
        self._api.put({**tenant, "metadata": {**tenant["metadata"], "finalizers": finalizers}})

    def _remove_namespaces(self, tenant: Tenant) -> bool:
        spec = spec_of(tenant)
        parent = spec["tenantname"]
        for child in spec.get("childnamespaces") or ():
            self._api.remove_anchor(parent, child_name(parent, child))
        return self._api.remove_anchor(NAMESPACE, parent)


def _finalizers(tenant: Tenant) -> list[str]:
    return list(tenant["metadata"].get("finalizers") or ())


def _with_state(tenant: Tenant, state: str) -> Tenant:
    return {**tenant, "spec": {**spec_of(tenant), "state": state}}
