"""``/sessiontemplates``: the templates that sessions are created from."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.connexion import (
    Parameter,
    Refused,
    bad_request,
    json_reply,
    no_content,
    read_body,
    read_parameters,
)
from csm_emulator.dialects.json_schema import first_error
from csm_emulator.records import Record
from csm_emulator.services.bos.errors import missing
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.ownership import OwnedRecords
from csm_emulator.services.bos.schemas import NAME, TEMPLATE, TEMPLATE_PATCH
from csm_emulator.services.bos.sessions.boot_sets import BootSets, without_empty_cfs
from csm_emulator.services.bos.tenants import HEADER, Tenants, tenant_of
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_ONE = (Parameter("session_template_id", NAME, "path", required=True), HEADER)
EXAMPLE: Record = {
    "boot_sets": {
        "name_your_boot_set": {
            "type": "s3",
            "etag": "boot-image-s3-etag",
            "kernel_parameters": "your-kernel-parameters",
            "cfs": {"configuration": "bootset-specific-cfs-override"},
            "node_list": ["xname1", "xname2", "xname3"],
            "path": "s3://boot-images/boot-image-ims-id/manifest.json",
            "rootfs_provider": "sbps",
            "rootfs_provider_passthrough": (
                "sbps:v1:iqn.2023-06.csm.iscsi:_sbps-hsn._tcp.my-system.my-site-domain:300"
            ),
        }
    },
    "cfs": {"configuration": "default-sessiontemplate-cfs-config"},
    "enable_cfs": True,
}


class TemplateStore(OwnedRecords):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("bos.templates"))


class Templates:
    def __init__(self, store: TemplateStore, boot_sets: BootSets, tenants: Tenants) -> None:
        self._store = store
        self._boot_sets = boot_sets
        self._tenants = tenants

    def routes(self) -> Sequence[Route]:
        path, item = "/v2/sessiontemplates", "/v2/sessiontemplates/{session_template_id}"
        return (
            Route("GET", path, self._list),
            Route("GET", item, lambda call: json_reply(self._template(call))),
            Route("PUT", item, self._put),
            Route("PATCH", item, self._patch),
            Route("DELETE", item, self._delete),
            Route("GET", "/v2/sessiontemplatesvalid/{session_template_id}", self._validate),
            Route("GET", "/v2/sessiontemplatetemplate", lambda _: json_reply(EXAMPLE)),
        )

    def _list(self, call: Call) -> Reply:
        read_parameters(call, (HEADER,))
        tenant = tenant_of(call)
        return json_reply([template for template in self._store if not tenant or template.get("tenant") == tenant])

    def _put(self, call: Call) -> Reply:
        name = str(read_parameters(call, _ONE)["session_template_id"])
        data = read_body(call, TEMPLATE)
        tenant = self._tenants.must_exist(call) or None
        try:
            template = {**self._validated(name, data), "tenant": tenant}
        except Failure as failure:
            return bad_request(f"The session template could not be created: {failure}")
        self._store.put(name, tenant, template)
        return json_reply(template)

    def _patch(self, call: Call) -> Reply:
        read_parameters(call, _ONE)
        patch = read_body(call, TEMPLATE_PATCH)
        current = self._template(call)
        try:
            template = self._validated(current["name"], _patched(current, patch))
        except Failure as failure:
            return bad_request(f"The session template could not be patched: {failure}")
        self._store.put(current["name"], tenant_of(call), template)
        return json_reply(template)

    def _validated(self, name: str, data: Record) -> Record:
        """The template as it is stored; raises ``Failure`` when it is invalid."""
        boot_sets = self._boot_sets.normalise(data["boot_sets"])
        for boot_set in boot_sets.values():
            error = first_error(boot_set["name"], NAME)
            if error is not None:
                raise Failure("jsonschema.exceptions.ValidationError", str(error))
            del boot_set["name"]
        return {**without_empty_cfs(data), "name": name, "boot_sets": boot_sets}

    def _delete(self, call: Call) -> Reply:
        self._store.delete(self._template(call)["name"], tenant_of(call))
        return no_content()

    def _validate(self, call: Call) -> Reply:
        """The result of validating the template for a boot: always 200 and a text, valid or not."""
        template = self._template(call)
        return json_reply(self._boot_sets.validate(template, "boot", template["name"])[1])

    def _template(self, call: Call) -> Record:
        name, tenant = str(read_parameters(call, _ONE)["session_template_id"]), tenant_of(call)
        template = self._store.get(name, tenant)
        if template is None:
            raise Refused(missing("Session template", name, tenant))
        return template


def _patched(template: Record, patch: Record) -> Record:
    result = {**template, **patch}
    if "cfs" in template and "cfs" in patch:
        result["cfs"] = {**template["cfs"], **patch["cfs"]}
    boot_sets = template["boot_sets"]
    result["boot_sets"] = {
        **boot_sets,
        **{name: _patched_set(boot_sets.get(name, {}), new) for name, new in patch.get("boot_sets", {}).items()},
    }
    return result


def _patched_set(boot_set: Record, patch: Record) -> Record:
    result = {**boot_set, **patch}
    if "cfs" in boot_set and "cfs" in patch:
        result["cfs"] = {**boot_set["cfs"], **patch["cfs"]}
    return result
