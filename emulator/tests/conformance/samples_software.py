"""Bodies that BOS, CFS, IMS and TAPMS take, by operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance.seed_records_software import (
    BUILDER,
    CLONE_URL,
    CONFIGURATION,
    CREDENTIALS,
    LAYER,
    PUBLIC_KEY,
    SOURCE,
    STAGED_SESSION,
    TEMPLATE,
    TENANT_NODE,
)

Samples = Mapping[str, Sequence[Any]]

_NODE = "x1000c0s0b0n0"
_BOOT_SET = {"path": "s3://boot-images/none/manifest.json", "type": "s3", "node_groups": ["blue"]}
_TEMPLATE = {"description": "of a test", "enable_cfs": False, "boot_sets": {"nodes": _BOOT_SET}}
_BOS: Samples = {
    "PUT /v2/sessiontemplates/{session_template_id}": [_TEMPLATE],
    "PATCH /v2/sessiontemplates/{session_template_id}": [{"description": "another"}, {"boot_sets": {"n": _BOOT_SET}}],
    "POST /v2/sessions": [
        {"operation": "boot", "template_name": TEMPLATE, "limit": _NODE},
        {"operation": "shutdown", "template_name": TEMPLATE, "stage": True},
    ],
    "PATCH /v2/sessions/{session_id}": [{"components": _NODE}, {"status": {"status": "running"}}],
    "PATCH /v2/components": [
        [{"id": _NODE, "enabled": True}],
        {"patch": {"enabled": False}, "filters": {"session": STAGED_SESSION}},
        {"patch": {"retry_policy": 2}, "filters": {"ids": _NODE}},
    ],
    "PATCH /v2/components/{component_id}": [{"enabled": True, "retry_policy": 4}],
    "POST /v2/applystaged": [{"xnames": [_NODE, TENANT_NODE]}],
    "PATCH /v2/options": [{"logging_level": "DEBUG", "polling_frequency": 30}],
}

_V2_LAYER = {"name": "one", "cloneUrl": CLONE_URL, "playbook": "site.yml", "branch": "main"}
_V2_STATE = [{"cloneUrl": CLONE_URL, "playbook": "site.yml", "commit": "a", "sessionName": "s"}]
_V3_STATE = [{"clone_url": CLONE_URL, "playbook": "site.yml", "commit": "a", "session_name": "s", "status": "applied"}]
_CFS: Samples = {
    "PATCH /v2/options": [{"sessionTTL": "3d", "batchSize": 4}],
    "POST /v2/sessions": [
        {"name": "another", "configurationName": CONFIGURATION, "ansibleLimit": _NODE},
        {"name": "image", "configurationName": CONFIGURATION, "target": {"definition": "repo"}, "tags": {"a": "b"}},
    ],
    "PATCH /v2/sessions/{session_name}": [{"status": {"session": {"status": "running"}}}],
    "PUT /v2/components": [[{"id": _NODE, "state": _V2_STATE, "desiredConfig": CONFIGURATION}]],
    "PATCH /v2/components": [
        [{"id": _NODE, "enabled": False}],
        {"patch": {"enabled": True}, "filters": {"ids": _NODE}},
    ],
    "PUT /v2/components/{component_id}": [{"state": _V2_STATE, "desiredConfig": CONFIGURATION, "tags": {"a": "b"}}],
    "PATCH /v2/components/{component_id}": [{"enabled": True, "errorCount": 1}, {"stateAppend": _V2_STATE[0]}],
    "PUT /v2/configurations/{configuration_id}": [{"layers": [_V2_LAYER]}],
    "PATCH /v3/options": [{"session_ttl": "3d", "batch_size": 4}],
    "POST /v3/sessions": [
        {"name": "another", "configuration_name": CONFIGURATION, "ansible_limit": _NODE},
        {"name": "image", "configuration_name": CONFIGURATION, "target": {"definition": "repo"}, "tags": {"a": "b"}},
    ],
    "PATCH /v3/sessions/{session_name}": [{"status": {"session": {"status": "running"}}}],
    "PUT /v3/components": [[{"id": _NODE, "state": _V3_STATE, "desired_config": CONFIGURATION}]],
    "PATCH /v3/components": [
        [{"id": _NODE, "enabled": False}],
        {"patch": {"enabled": True}, "filters": {"ids": _NODE}},
    ],
    "PUT /v3/components/{component_id}": [{"state": _V3_STATE, "desired_config": CONFIGURATION, "tags": {"a": "b"}}],
    "PATCH /v3/components/{component_id}": [
        {"enabled": True, "error_count": 1},
        {"state_append": _V3_STATE[0]},
        {"state_append": {"clone_url": CLONE_URL, "playbook": "site.yml", "commit": "b"}},
    ],
    "PUT /v3/configurations/{configuration_id}": [
        {"layers": [LAYER], "description": "of a test"},
        {"layers": [{"source": SOURCE, "playbook": "site.yml", "branch": "main"}], "additional_inventory": LAYER},
    ],
    "POST /v3/sources": [{"name": "another", "clone_url": CLONE_URL, "credentials": CREDENTIALS}],
    "PATCH /v3/sources/{source_id}": [{"description": "another"}, {"credentials": {"username": "v", "password": "q"}}],
    "POST /v3/sources/{source_id}": [
        {"clone_url": CLONE_URL, "credentials": {"authentication_method": "password", "secret_name": "s"}}
    ],
}

_LINK = {"type": "s3", "path": "s3://boot-images/none/manifest.json", "etag": ""}
_RECIPE = {"name": "new", "recipe_type": "kiwi-ng", "linux_distribution": "sles15", "arch": "x86_64"}
_RECIPE_CHANGE = {"arch": "aarch64", "require_dkms": True, "template_dictionary": [{"key": "A", "value": "b"}]}
_JOB = {
    "job_type": "customize",
    "artifact_id": "00000000-0000-4000-8000-000000000000",
    "public_key_id": "00000000-0000-4000-8000-000000000000",
    "image_root_archive_name": "new",
}


def _ims() -> Samples:
    bodies: dict[str, list[Any]] = {}
    for prefix in ("", "/v2", "/v3"):
        bodies |= {
            f"POST {prefix}/recipes": [_RECIPE],
            f"PATCH {prefix}/recipes/{{recipe_id}}": [_RECIPE_CHANGE],
            f"POST {prefix}/images": [{"name": "new", "arch": "aarch64"}, {"name": "new", "link": _LINK}],
            f"PATCH {prefix}/images/{{image_id}}": [
                {"arch": "aarch64"},
                {"metadata": {"operation": "set", "key": "k", "value": "v"}},
            ],
            f"POST {prefix}/public-keys": [PUBLIC_KEY],
            f"POST {prefix}/jobs": [_JOB, _JOB | {"job_type": "create", "build_env_size": 20}],
            f"PATCH {prefix}/jobs/{{job_id}}": [{"status": "packaging_artifacts"}],
        }
    for kind, parameter in (("images", "deleted_image_id"), ("recipes", "recipe_id")):
        bodies[f"PATCH /v3/deleted/{kind}/{{{parameter}}}"] = [{"operation": "undelete"}]
    bodies["PATCH /v3/deleted/public-keys/{deleted_public_key_id}"] = [{"operation": "undelete"}]
    return bodies | {"POST /v3/remote-build-nodes": [{"xname": BUILDER}]}


SAMPLES: dict[str, Samples] = {
    "bos": _BOS,
    "cfs": _CFS,
    "ims": _ims(),
    "tapms": {"POST /v1alpha3/tenants": [[TENANT_NODE], ["x1000c0s0b0n0"], [TENANT_NODE, "x1000c0s0b0n0"]]},
}
