"""Jobs: refused requests, filters, deletion, and a build from a recipe."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.seed_data.image_files import tarball
from csm_emulator.seed_data.images import ROOTFS
from csm_emulator.services.ims.images.job_records import read_records
from services.ims.ims_client import Ims

UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
KIWI = b'<image name="x"><repository><source path="https://nexus/repo/"/></repository></image>'


def body(ims: Ims, **more: Any) -> dict[str, Any]:
    usual = {"job_type": "customize", "artifact_id": ims.image()["id"], "public_key_id": ims.key()}
    return {**usual, "image_root_archive_name": "n", **more}


@pytest.mark.parametrize(
    ("more", "errors"),
    [
        ({"job_type": "x"}, {"job_type": ["Job type must be one of: create, customize."]}),
        ({"artifact_id": "x"}, {"artifact_id": ["Not a valid UUID."]}),
        ({"public_key_id": None}, {"public_key_id": ["Field may not be null."]}),
        ({"initrd_file_name": ""}, {"initrd_file_name": ["initrd_file_name field must not be blank"]}),
        ({"build_env_size": 0}, {"build_env_size": ["build_env_size must be greater than or equal to 1"]}),
        ({"build_env_size": "x"}, {"build_env_size": ["Not a valid integer."]}),
        ({"build_env_size": True}, {"build_env_size": ["Not a valid integer."]}),
        ({"job_mem_size": 1e999}, {"job_mem_size": ["Number too large."]}),
        ({"job_mem_size": 0}, {"job_mem_size": ["build_env_size must be greater than or equal to 1"]}),
        ({"enable_debug": "perhaps"}, {"enable_debug": ["Not a valid boolean."]}),
        ({"enable_debug": []}, {"enable_debug": ["Not a valid boolean."]}),
        ({"ssh_containers": {}}, {"ssh_containers": ["Not a valid list."]}),
        ({"ssh_containers": [{"jail": 7}]}, {"ssh_containers": {"0": {"jail": ["Not a valid boolean."]}}}),
        ({"status": "success"}, {"status": ["Unknown field."]}),
    ],
)  # fmt: skip
def test_what_is_no_job(shared_ims: Ims, more: Any, errors: Any) -> None:
    reply = shared_ims.ask("POST", "/v3/jobs", body(shared_ims, **more))
    assert (reply.status, reply.json()["errors"]) == (422, errors)
    assert shared_ims.get("/v3/jobs") == []


def test_what_a_job_needs(ims: Ims) -> None:
    bare = ims.do("POST", "/v3/images", {"name": "bare"}, 201)["id"]
    for more, message in (
        ({"artifact_id": UNKNOWN_ID}, f"No IMS image record found matching id={UNKNOWN_ID}."),
        ({"artifact_id": UNKNOWN_ID, "job_type": "create"}, f"No IMS recipe record found matching id={UNKNOWN_ID}."),
        ({"artifact_id": bare}, f"The IMS image does not have an artifact_link for image_id={bare}."),
        ({"public_key_id": UNKNOWN_ID}, f"No IMS public-key record found matching id={UNKNOWN_ID}"),
        ({"ssh_containers": [{}, {}]}, "Only one SSH container is currently supported."),
        ({"ssh_containers": [{}], "job_type": "create"}, "User defined ssh containers during image create are not"),
    ):
        status, detail = ims.refusal("POST", "/v2/jobs", body(ims, **more))
        assert status == 400
        assert message in detail
    assert list(ims.site.context.cluster.pods("ims")) == []


def test_an_image_whose_files_are_gone(ims: Ims) -> None:
    image = ims.image()
    ims.s3.delete("boot-images", f"{image['id']}/rootfs")
    status, detail = ims.refusal("POST", "/v3/jobs", body(ims))
    assert (status, detail[:16]) == (422, "The s3 artifact ")
    ims.s3.delete("boot-images", f"{image['id']}/manifest.json")
    assert ims.refusal("POST", "/v3/jobs", body(ims))[0] == 422


@pytest.mark.parametrize(
    ("manifest", "status"),
    [(b"{", 500), ({}, 400), ({"version": "1.0"}, 400), ({"version": "1.0", "artifacts": []}, 400)],
)
def test_an_image_whose_manifest_is_bad(ims: Ims, manifest: Any, status: int) -> None:
    image = ims.image()
    link = ims.new_manifest("bad", manifest)
    ims.s3.put("boot-images", f"{image['id']}/manifest.json", ims.object(link["path"]))
    assert ims.ask("POST", "/v3/jobs", body(ims)).status == status


def test_sizes_and_names(ims: Ims) -> None:
    job = ims.customize(
        ims.image()["id"],
        build_env_size="15",
        job_mem_size=3.9,
        kernel_file_name="k",
        initrd_file_name="i",
        kernel_parameters_file_name="p",
        ssh_containers=[{"name": "mine", "jail": True}],
        require_dkms=False,
        enable_debug=True,
    )
    assert (job["build_env_size"], job["job_mem_size"]) == (15, 3)
    assert (job["kernel_file_name"], job["initrd_file_name"], job["kernel_parameters_file_name"]) == ("k", "i", "p")
    assert (job["ssh_containers"][0]["name"], job["ssh_containers"][0]["jail"]) == ("mine", True)
    assert (job["require_dkms"], job["enable_debug"]) == (False, True)


def test_dkms(ims: Ims) -> None:
    """The job takes the value of the recipe, unless it has its own."""
    recipe = ims.recipe()["id"]
    assert ims.create(recipe)["require_dkms"] is False
    assert ims.create(recipe, require_dkms=True)["require_dkms"] is True
    assert ims.customize(ims.image()["id"])["require_dkms"] is True


def test_a_status_that_a_client_sets(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    assert ims.do("PATCH", f"/v3/jobs/{job}", {"status": "error"})["status"] == "error"
    image = ims.image()["id"]
    assert ims.do("PATCH", f"/v2/jobs/{job}", {"resultant_image_id": image})["resultant_image_id"] == image
    reply = ims.ask("PATCH", f"/v3/jobs/{job}", {"status": "gone", "name": 5})
    assert set(reply.json()["errors"]) == {"status", "name"}
    assert ims.refusal("PATCH", f"/v3/jobs/{UNKNOWN_ID}", {})[0] == 404
    ims.until(job, "waiting_on_user")


@pytest.mark.parametrize(
    ("query", "remaining"),
    [
        ("", []),
        ("status=error", ["young", "create"]),
        ("status=ERROR&status=creating", []),
        ("job_type=create", ["old", "young"]),
        ("age=1h", ["young", "create"]),
        ("age=3days", ["old", "young", "create"]),
        ("age=30m", ["young", "create"]),
        ("age=1hour&job_type=create", ["old", "young", "create"]),
    ],
)
def test_many_are_deleted_at_once(ims: Ims, query: str, remaining: list[str]) -> None:
    names = {ims.customize(ims.image()["id"], "old")["id"]: "old"}
    ims.do("PATCH", f"/v3/jobs/{next(iter(names))}", {"status": "error"})
    ims.break_("image-job-stuck", "*", status="creating")
    ims.step(7200)
    names[ims.customize(ims.image()["id"], "young")["id"]] = "young"
    names[ims.create(ims.recipe()["id"], "create")["id"]] = "create"
    for job in ims.get("/v3/jobs"):
        if job["image_root_archive_name"] == "old":
            ims.do("PATCH", f"/v3/jobs/{job['id']}", {"status": "error"})
    ims.do("DELETE", f"/v3/jobs?{query}", status=204)
    assert [names[job["id"]] for job in ims.get("/v2/jobs")] == remaining
    assert len(list(ims.site.context.cluster.pods("ims"))) == len(remaining)


@pytest.mark.parametrize("query", ["status=x", "job_type=x", "age=99999999999999w"])
def test_what_is_not_understood_deletes_nothing(ims: Ims, query: str) -> None:
    ims.customize(ims.image()["id"])
    reply = ims.ask("DELETE", f"/v3/jobs?{query}")
    name, _, value = query.partition("=")
    assert (reply.status, reply.media) == (400, "application/problem+json")
    assert reply.json()["title"].startswith(f"Unsupported {name} {value} in query parameters. ")
    assert len(ims.get("/v3/jobs")) == 1


def test_an_age_without_end_takes_no_time(ims: Ims) -> None:
    ims.do("DELETE", f"/v3/jobs?age={'1' * 100_000}", status=204)


def test_a_build(ims: Ims) -> None:
    recipe = ims.recipe()
    job = ims.create(recipe["id"])
    assert (job["ssh_containers"], job["kubernetes_job"]) == (None, f"cray-ims-{job['id']}-create")
    statuses = [job["status"]]
    while statuses[-1] not in ("success", "error"):
        ims.step(1)
        status = ims.job(job["id"])["status"]
        statuses += [status] if status != statuses[-1] else []
    assert statuses == [
        "creating",
        "fetching_recipe",
        "waiting_for_repos",
        "building_image",
        "packaging_artifacts",
        "success",
    ]
    image = ims.get(f"/v3/images/{ims.job(job['id'])['resultant_image_id']}")
    assert (image["name"], image["arch"]) == ("built", recipe["arch"])
    data = ims.file(image["id"], ROOTFS)
    assert data[:4] == b"hsqs"
    record = read_records(data)[0]
    assert (record["job"], record["recipe"], record["archive"]) == ("create", recipe["id"], recipe["link"]["etag"])
    pod = ims.pod(job["id"])
    assert [one.name for one in pod.containers if one.init] == [
        "fetch-recipe",
        "wait-for-repos",
        "build-ca-rpm",
        "build-image",
    ]
    assert pod.phase == "Succeeded"
    assert "Recipe contains the following repos: ['http" in ims.logs(job["id"])


def test_a_builder_has_the_signing_keys(ims: Ims) -> None:
    job = ims.create(ims.recipe()["id"])["id"]
    ims.until(job, "building_image")
    (files,) = [
        volume_files
        for volume in ims.site.context.cluster.volumes
        if (volume_files := volume(ims.pod(job), "build-image"))
    ]
    assert sorted(files) == ["/signing-keys/hpe-signing-key.asc", "/signing-keys/suse-signing-key.asc"]
    assert set(files.values()) == {"-----BEGIN PGP PUBLIC KEY BLOCK-----\n"}
    assert not any(volume(ims.pod(job), "fetch-recipe") for volume in ims.site.context.cluster.volumes)


def build(ims: Ims, files: dict[str, bytes] | bytes, **more: Any) -> tuple[dict[str, Any], str]:
    """The job after its end, and its log."""
    data = files if isinstance(files, bytes) else tarball(files, 0)
    ims.s3.put("ims", "mine.tgz", data)
    link = {"type": "s3", "path": "s3://ims/mine.tgz"}
    record = {"name": "r", "recipe_type": "kiwi-ng", "linux_distribution": "sles15", "link": link, **more}
    job = ims.create(ims.do("POST", "/v3/recipes", record, 201)["id"])["id"]
    ims.step(2000)
    return ims.job(job), ims.logs(job)


def test_other_recipes_give_other_images(ims: Ims) -> None:
    job, _ = build(ims, {"config.xml": KIWI})
    mine = ims.file(job["resultant_image_id"], ROOTFS)
    other_image = ims.create(ims.recipe()["id"])["id"]
    assert ims.file(ims.until(other_image, "success")["resultant_image_id"], ROOTFS) != mine


def test_values_of_the_template_count(ims: Ims) -> None:
    files = {"config.xml": KIWI, ".ims_recipe_template.yaml": b"template_files: [config.xml]"}
    job, log = build(ims, files)
    assert job["status"] == "error"
    assert "The recipe expects to be templated" in log
    ims.do("DELETE", f"/v2/recipes/{job['artifact_id']}", status=204)
    job, _ = build(ims, files, template_dictionary=[{"key": "a", "value": "1"}])
    assert job["status"] == "success"
    assert read_records(ims.file(job["resultant_image_id"], ROOTFS))[0]["template_dictionary"] == {"a": "1"}


@pytest.mark.parametrize(
    ("files", "status", "message"),
    [
        (b"no archive", "error", "Error unhandled exception while fetching recipe."),
        (b"\x1f\x8bnonsense", "error", "Error unhandled exception while fetching recipe."),
        ({"readme": b""}, "waiting_for_repos", "/mnt/image/recipe/config.xml does not exist."),
        ({"config.xml": b"<image"}, "error", "Failed to parse config.xml to determine repo URLs."),
        ({"config.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "error", "Failed to parse config.xml"),
        ({"config.xml": b"<image/>"}, "error", "No matching http(s) repos found. Exiting."),
    ],
)
def test_recipes_that_cannot_be_built(ims: Ims, files: Any, status: str, message: str) -> None:
    job, log = build(ims, files)
    assert job["status"] == status
    assert message in log
    assert ims.pod(job["id"]).phase == "Failed"
    assert job["resultant_image_id"] is None


def test_packer_looks_for_no_repositories(ims: Ims) -> None:
    job, log = build(ims, {"x.json": b"{}"}, recipe_type="packer")
    assert job["status"] == "success"
    assert "Calling packer build..." in log


def test_a_build_stuck(ims: Ims) -> None:
    ims.break_("image-job-stuck", "built")
    job = ims.create(ims.recipe()["id"])["id"]
    ims.step(7200)
    assert ims.job(job)["status"] == "building_image"


def test_debug_gives_a_shell(ims: Ims) -> None:
    assert ims.create(ims.recipe()["id"], enable_debug=True)["ssh_containers"][0]["name"] == "debug"
