"""``/sessiontemplates``: templates that are stored, refused, or stored with a warning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from csm_emulator.clients.s3 import S3Client
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.transport.call import JSON, Reply
from service_client import reopen
from services.bos.bos_client import UP, Bos, StubbedServices

SPECIFIERS = "frozenset({'node_list', 'node_roles_groups', 'node_groups'})"


def put(bos: Bos, boot_set: dict[str, Any], name: str = "nodes") -> Any:
    return bos.do("PUT", "/sessiontemplates/t", {"boot_sets": {name: boot_set}})


def refusal_of(bos: Bos, boot_set: dict[str, Any], name: str = "nodes") -> str:
    status, detail = bos.refusal("PUT", "/sessiontemplates/t", {"boot_sets": {name: boot_set}})
    assert status == 400
    return detail


def verdict(bos: Bos) -> str:
    return str(bos.get("/sessiontemplatesvalid/t"))


def without(boot_set: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in boot_set.items() if name not in names}


def test_round_trip(bos: Bos) -> None:
    boot_set = bos.boot_set(
        kernel_parameters="quiet",
        cfs={"configuration": "own"},
        node_list=["x1000c0s0b0n0"],
        node_roles_groups=["Compute"],
        arch="X86",
        rootfs_provider="sbps",
        rootfs_provider_passthrough="sbps:v1:iqn",
    )
    body = {
        "description": "all of it",
        "enable_cfs": True,
        "cfs": {"configuration": "common"},
        "boot_sets": {"one": {**boot_set, "name": "one"}, "two": boot_set},
    }
    template = bos.do("PUT", "/sessiontemplates/whole-1.0_x", body)
    assert template == {**body, "boot_sets": {"one": boot_set, "two": boot_set}, "name": "whole-1.0_x", "tenant": None}
    assert bos.get("/sessiontemplates/whole-1.0_x") == template
    assert bos.get("/sessiontemplates") == [template]
    assert Bos(reopen(bos.site)).get("/sessiontemplates/whole-1.0_x") == template


def test_what_is_made_tidy(bos: Bos) -> None:
    template = put(bos, {**bos.boot_set(node_list=["X1000C0S00B0N01", "nid1"]), "cfs": {"configuration": ""}})
    boot_set = template["boot_sets"]["nodes"]
    assert boot_set["arch"] == "X86"
    assert boot_set["node_list"] == ["x1000c0s0b0n1", "nid1"]
    assert "cfs" not in boot_set


def test_patch_and_delete(bos: Bos) -> None:
    bos.template(cfs="common")
    patch = {"cfs": {}, "boot_sets": {"nodes": bos.boot_set(etag="e"), "more": bos.boot_set()}, "description": "d"}
    template = bos.do("PATCH", "/sessiontemplates/t", patch)
    assert template["cfs"] == {"configuration": "common"}
    assert template["boot_sets"]["nodes"]["etag"] == "e"
    assert sorted(template["boot_sets"]) == ["more", "nodes"]
    assert bos.get("/sessiontemplates/t") == template
    bos.do("DELETE", "/sessiontemplates/t")
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", {"description": "d"})):
        assert bos.refusal(method, "/sessiontemplates/t", body) == (404, "Session template 't' does not exist")
    assert bos.refusal("GET", "/sessiontemplatesvalid/t") == (404, "Session template 't' does not exist")


def test_a_patch_is_looked_at_as_a_whole(bos: Bos) -> None:
    bos.template()
    bare = without(bos.boot_set(), "node_groups")
    assert bos.refusal("PATCH", "/sessiontemplates/t", {"boot_sets": {"more": bare}}) == (
        400,
        "The session template could not be patched: Boot set more: No hardware specifier fields (" + SPECIFIERS + ")",
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "'boot_sets' is a required property"),
        ({"boot_sets": {}}, "{} should be non-empty - 'boot_sets'"),
        ({"boot_sets": {"a": {}}}, "'path' is a required property - 'boot_sets.a'"),
        ({"boot_sets": {"a": {"path": "p", "type": "s3", "arch": "VAX"}}}, "'VAX' is not one of ['X86', 'ARM', "),
        ({"boot_sets": {"a": {"path": "p", "type": "s3", "node_list": []}}}, "[] should be non-empty - 'boot_sets.a."),
        ({"boot_sets": {"a": {"path": "", "type": "s3"}}}, "'' should be non-empty - 'boot_sets.a.path'"),
        ({"name": "t", "boot_sets": {}}, "Property is read-only - 'name'"),
        (
            {"other": 1, "boot_sets": {"a": {"path": "p", "type": "s3"}}},
            "Additional properties are not allowed ('other'",
        ),
        ({"description": "", "boot_sets": {}}, "'' should be non-empty - 'description'"),
    ],
)
def test_bodies_that_do_not_fit(shared_bos: Bos, body: object, message: str) -> None:
    status, detail = shared_bos.refusal("PUT", "/sessiontemplates/t", body)
    assert (status, detail[: len(message)]) == (400, message)


@pytest.mark.parametrize("name", ["-a", "a-", "a%20b", "a" * 128])
def test_names(bos: Bos, name: str) -> None:
    status, detail = bos.refusal("PUT", f"/sessiontemplates/{name}", {"boot_sets": {"nodes": bos.boot_set()}})
    assert status == 400
    assert "does not match" in detail or "is too long" in detail


def test_boot_sets_that_may_not_be_kept(bos: Bos) -> None:
    boot_set, prefix = bos.boot_set(), "The session template could not be created: "
    assert refusal_of(bos, {**boot_set, "name": "other"}) == (
        f"{prefix}boot_sets key (nodes) does not match 'name' field of corresponding boot set (other)"
    )
    assert refusal_of(bos, without(boot_set, "node_groups")) == (
        f"{prefix}Boot set nodes: No hardware specifier fields ({SPECIFIERS})"
    )
    assert refusal_of(bos, boot_set, "a b").startswith(f"{prefix}'a b' does not match '^[a-zA-Z0-9]")
    assert "Boot set arch 'ARM' means IMS image arch should be 'aarch64', but actual IMS image arch is 'x86_64'" in (
        refusal_of(bos, {**boot_set, "arch": "ARM"})
    )
    bos.options(reject_nids=True)
    assert refusal_of(bos, bos.boot_set(node_list=["nid000001"])) == f"{prefix}Boot set nodes: Has NID in 'node_list'"


def test_images_that_ims_does_not_know(bos: Bos) -> None:
    boot_set = {**bos.boot_set(), "path": "s3://boot-images/nothing/manifest.json"}
    put(bos, boot_set)
    bos.options(ims_images_must_exist=True)
    assert refusal_of(bos, boot_set).endswith("IMS image id 'nothing' does not exist in IMS\n")


def test_ims_that_is_away(bos: Bos, stubs: StubbedServices) -> None:
    boot_set = bos.boot_set()
    stubs.take_down("ims")
    put(bos, boot_set)
    assert "Can't validate boot image arch: Non-2XX response (503) to GET http://cray-ims/v3/images/" in verdict(bos)
    bos.options(ims_errors_fatal=True)
    assert "Non-2XX response (503) to GET http://cray-ims/v3/images/" in refusal_of(bos, boot_set)


def test_a_template_that_can_be_booted(bos: Bos) -> None:
    bos.template(rootfs_provider="sbps")
    assert verdict(bos) == "Valid"


def test_warnings_and_errors_of_a_template(bos: Bos) -> None:
    where = "Session template: 't' boot set: 'nodes': "
    bos.template(rootfs_provider="cpss3", node_list=["nid1"])
    assert verdict(bos) == (
        f"{where}Unsupported rootfs_provider ('cpss3') will cause boot/reboot sessions to fail; "
        f"{where}Has NID in 'node_list'"
    )
    bos.template(path="s3://boot-images/gone/manifest.json")
    assert verdict(bos) == (
        f"{where}Can't find boot artifacts. Error: bos.common.clients.s3.exceptions.ManifestNotFound: Unable to read "
        "manifest file 's3://boot-images/gone/manifest.json'.\n"
    )
    bos.template(type="disk")
    assert "No BootImageMetadata class for type disk" in verdict(bos)
    bos.template(arch="Other")
    assert verdict(bos) == f"{where}Can't validate boot image arch: Boot set arch set to 'Other'"
    bos.template(path="s3://boot-images/manifest.json")
    assert "Can't find boot artifacts" in verdict(bos)


def artefact(kind: str, path: str = "s3://boot-images/x/none") -> dict[str, Any]:
    return {"type": f"application/vnd.cray.image.{kind}", "link": {"path": path, "etag": "e", "type": "s3"}}


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (b"\xff\xff", "Unable to read manifest file"),
        (b"{", "json.decoder.JSONDecodeError: Expecting property name"),
        (b"[]", "Manifest should be dict. Invalid data type: list"),
        (b"{}", "KeyError: 'artifacts'"),
        (b'{"artifacts": 7}', "TypeError: 'int' object is not iterable"),
        (b'{"artifacts": [{}]}', "KeyError: 'type'"),
        (b"[" * 100_000, "RecursionError"),
        (json.dumps({"artifacts": []}).encode(), "Can't find kernel in s3://boot-images/x/manifest.json. Error: "),
        (json.dumps({"artifacts": [artefact("kernel")] * 2}).encode(), "Multiple application/vnd.cray.image.kernel"),
        (json.dumps({"artifacts": [artefact("kernel")]}).encode(), "s3 object s3://boot-images/x/none was not found."),
        (b"x" * ((1 << 20) + 1), "1048577 bytes is too big for a manifest"),
    ],
)
def test_manifests_that_make_no_sense(bos: Bos, manifest: bytes, message: str) -> None:
    bos.template(path="s3://boot-images/x/manifest.json")
    store(bos, "x/manifest.json", manifest)
    assert message in verdict(bos)
    status, detail = bos.refusal("POST", "/sessions", {"template_name": "t", "operation": "boot"})
    assert status == 400
    assert detail.startswith("Session template fails check: Session template: 't' boot set: 'nodes': Can't find ")


def store(bos: Bos, key: str, data: bytes) -> None:
    S3Client(bos.site.mesh, s3_keys(bos.site.random)).put("boot-images", key, data)


def test_an_image_without_initrd_is_warned_of(bos: Bos) -> None:
    kernel = artefact("kernel", "s3://boot-images/x/kernel")
    store(bos, "x/kernel", b"k")
    store(bos, "x/manifest.json", json.dumps({"artifacts": [kernel]}).encode())
    bos.template(path="s3://boot-images/x/manifest.json")
    assert "s3://boot-images/x/manifest.json doesn't contain a initrd" in verdict(bos)
    both = {"artifacts": [kernel, artefact("initrd", "s3://boot-images/x/initrd")]}
    store(bos, "x/manifest.json", json.dumps(both).encode())
    assert "Unable to check initrd in s3://boot-images/x/manifest.json. Warning: " in verdict(bos)


def test_ims_that_answers_nonsense(bos: Bos, stubs: StubbedServices) -> None:
    bos.template()
    stubs.answer("ims", lambda _: Reply(200, b"nonsense", JSON))
    assert "Can't validate boot image arch" in verdict(bos)


def test_the_example(bos: Bos) -> None:
    example = bos.get("/sessiontemplatetemplate")
    assert example["boot_sets"]["name_your_boot_set"]["rootfs_provider"] == "sbps"
    assert bos.do("PUT", "/sessiontemplates/example", example)["name"] == "example"


def test_a_node_list_of_one(bos: Bos) -> None:
    bos.template(node_list=[UP])
    assert bos.get("/sessiontemplates/t")["boot_sets"]["nodes"]["node_list"] == [UP]
