"""Records that are put into BOS, CFS, IMS and TAPMS before they are examined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.seeding import SeededNames, put
from csm_emulator.seed_data.repositories import commit_of, names
from csm_emulator.site import Site

TENANT, TENANT_NODE = "vcluster-blue", "x1000c0s1b1n1"
CONFIGURATION, SPARE_CONFIGURATION = "base", "spare"
SOURCE, SPARE_SOURCE = "mine", "spare"
TEMPLATE, SPARE_TEMPLATE = "compute", "spare"
SESSION, STAGED_SESSION = "first", "staged"
BUILDER = "x1000c0s1b0n1"
REPOSITORY = names()[0]
CLONE_URL = f"https://api-gw-service-nmn.local/vcs/cray/{REPOSITORY}.git"
COMMIT = commit_of(REPOSITORY, "main")
LAYER = {"name": "one", "clone_url": CLONE_URL, "playbook": "site.yml", "commit": COMMIT}
CREDENTIALS = {"authentication_method": "password", "username": "u", "password": "p"}
PUBLIC_KEY = {"name": "mine", "public_key": "ssh-rsa AAAAB3Nza canton"}
_TENANTS = "/apis/tapms.hpe.com/v1alpha3/namespaces/tenants/tenants"


def _add_tenant(site: Site) -> str:
    """Creates a tenant as an administrator does, and returns its UUID."""
    group = {"hsmgrouplabel": "tenant-blue", "enforceexclusivehsmgroups": False}
    resource = {"type": "compute", "xnames": [TENANT_NODE], **group}
    spec = {"tenantname": TENANT, "childnamespaces": ["slurm"], "tenantresources": [resource]}
    tenant = {
        "apiVersion": "tapms.hpe.com/v1alpha3",
        "kind": "Tenant",
        "metadata": {"name": TENANT, "namespace": "tenants"},
        "spec": spec,
    }
    put(site, "kubernetes", f"POST {_TENANTS}", tenant)
    site.step(60.0)
    return str(put(site, "tapms", f"GET /v1alpha3/tenants/{TENANT}", None)["status"]["uuid"])


def boot_set(image: dict[str, Any]) -> dict[str, Any]:
    """A boot set that boots the nodes of one group from an image of IMS."""
    link = image["link"]
    return {"path": link["path"], "etag": link["etag"], "type": "s3", "node_groups": ["blue"]}


def _tapms(site: Site) -> SeededNames:
    yield "id", _add_tenant(site)
    yield "id", TENANT


def _bos(site: Site) -> SeededNames:
    _add_tenant(site)
    yield "cray-tenant-name", TENANT
    image = put(site, "ims", "GET /v3/images", None)[0]
    yield "path", image["link"]["path"]
    yield "etag", image["link"]["etag"]
    for name in (TEMPLATE, SPARE_TEMPLATE):
        put(site, "bos", f"PUT /v2/sessiontemplates/{name}", {"boot_sets": {"nodes": boot_set(image)}})
    staged = {"name": STAGED_SESSION, "operation": "boot", "template_name": TEMPLATE, "stage": True}
    put(site, "bos", "POST /v2/sessions", staged)
    site.step(60.0)
    put(site, "bos", "POST /v2/sessions", {"name": SESSION, "operation": "boot", "template_name": TEMPLATE})
    site.step(60.0)


def _cfs(site: Site) -> SeededNames:
    _add_tenant(site)
    yield "cray-tenant-name", TENANT
    for name in (SOURCE, SPARE_SOURCE):
        source = {"name": name, "clone_url": CLONE_URL, "credentials": CREDENTIALS}
        put(site, "cfs", "POST /v3/sources", source)
    for name in (CONFIGURATION, SPARE_CONFIGURATION):
        put(site, "cfs", f"PUT /v3/configurations/{name}", {"layers": [LAYER]})
    session = {"name": SESSION, "configuration_name": CONFIGURATION, "ansible_limit": BUILDER}
    put(site, "cfs", "POST /v3/sessions", session)
    site.step(30.0)


def _ims(site: Site) -> SeededNames:
    recipe, image = (put(site, "ims", f"GET /v3/{kind}", None)[0] for kind in ("recipes", "images"))
    key = put(site, "ims", "POST /v3/public-keys", PUBLIC_KEY)["id"]
    order = {
        "job_type": "customize",
        "artifact_id": image["id"],
        "public_key_id": key,
        "image_root_archive_name": "mine",
    }
    put(site, "ims", "POST /v3/remote-build-nodes", {"xname": BUILDER})
    yield from (("job_id", put(site, "ims", "POST /v3/jobs", order)["id"]) for _ in range(2))
    yield "public_key_id", key
    yield from _deleted(site)
    yield "recipe_id", recipe["id"]
    for name in ("image_id", "artifact_id", "resultant_image_id"):
        yield name, image["id"]
    yield "artifact_id", recipe["id"]
    yield "path", image["link"]["path"]
    yield "path", recipe["link"]["path"]


def _deleted(site: Site) -> SeededNames:
    """Names of deleted records, which version 3 keeps."""
    recipe = {"name": "old", "recipe_type": "kiwi-ng", "linux_distribution": "sles15"}
    kinds = (
        ("images", {"name": "old"}, "deleted_image_id"),
        ("recipes", recipe, "recipe_id"),
        ("public-keys", PUBLIC_KEY, "deleted_public_key_id"),
    )
    for kind, body, parameter in kinds:
        record = put(site, "ims", f"POST /v3/{kind}", body)["id"]
        put(site, "ims", f"DELETE /v3/{kind}/{record}", None)
        yield parameter, record


SEEDERS: dict[str, Callable[[Site], SeededNames]] = {"tapms": _tapms, "bos": _bos, "cfs": _cfs, "ims": _ims}
