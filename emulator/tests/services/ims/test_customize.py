"""A customisation, from the first request to the new image."""

from __future__ import annotations

import json
from typing import Any

import pytest

from csm_emulator.cluster.pods import Pod
from csm_emulator.seed_data.images import INITRD, KERNEL, PARAMETERS, ROOTFS
from csm_emulator.services.ims.images.job_records import read_records
from services.ims.ims_client import Ims, sum_of

LAYERS = {"layers": [{"name": "uss", "commit": "abc"}], "commands": ["zypper install slurm", "dracut -f"]}


def run(ims: Ims, content: Any = "", **more: Any) -> dict[str, Any]:
    """A whole customisation of the image that compute nodes boot."""
    job = ims.customize(ims.image()["id"], **more)
    ims.until(job["id"], "waiting_on_user")
    ims.touch(job["id"], content=content)
    return ims.until(job["id"], "success")


def test_a_new_job(ims: Ims) -> None:
    parent = ims.image()
    job = ims.customize(parent["id"])
    host = job["id"]
    assert job["status"] == "creating"
    assert job["resultant_image_id"] is None
    assert (job["build_env_size"], job["job_mem_size"], job["arch"]) == (60, 8, parent["arch"])
    assert job["kernel_file_name"] == {"x86_64": "vmlinuz", "aarch64": "Image"}[parent["arch"]]
    assert job["kubernetes_job"] == f"cray-ims-{host}-customize"
    assert (job["initrd_file_name"], job["kernel_parameters_file_name"]) == ("initrd", "kernel-parameters")
    assert job["ssh_containers"] == [
        {
            "name": "customize",
            "jail": False,
            "status": "pending",
            "connection_info": {
                "customer_access": {"host": f"{host}.ims.cmn.shasta.local", "port": 22},
                "cluster.local": {"host": f"cray-ims-{host}-service.ims.svc.cluster.local", "port": 22},
            },
        }
    ]
    assert ims.get(f"/v2/jobs/{host}") == ims.get(f"/jobs/{host}") == ims.get("/v3/jobs")[0] == job


def states(pod: Pod) -> dict[str, str]:
    return {one.name: one.state for one in pod.containers}


def test_its_pod_as_it_goes(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    assert ims.pod(job).labels["job-name"] == f"cray-ims-{job}-customize"
    assert ims.pod(job).owner == ("Job", f"cray-ims-{job}-customize")
    assert states(ims.pod(job)) == {"prepare": "waiting", "buildenv-sidecar": "waiting", "sshd": "waiting"}
    ims.until(job, "fetching_image")
    assert states(ims.pod(job)) == {"prepare": "running", "buildenv-sidecar": "waiting", "sshd": "waiting"}
    ims.until(job, "waiting_on_user")
    assert states(ims.pod(job)) == {"prepare": "ended", "buildenv-sidecar": "running", "sshd": "running"}
    ims.touch(job)
    ims.until(job, "packaging_artifacts")
    assert states(ims.pod(job)) == {"prepare": "ended", "buildenv-sidecar": "running", "sshd": "ended"}
    ims.until(job, "success")
    assert ims.pod(job).phase == "Succeeded"


def test_what_comes_of_it(ims: Ims) -> None:
    parent = ims.image()
    job = run(ims, LAYERS, name="slurm-image")
    image = ims.get(f"/v3/images/{job['resultant_image_id']}")
    assert (image["name"], image["arch"]) == ("slurm-image", parent["arch"])
    assert image["link"]["path"] == f"s3://boot-images/{image['id']}/manifest.json"
    assert image["link"]["etag"] == sum_of(ims.object(image["link"]["path"]))
    artifacts = {entry["type"]: entry for entry in ims.manifest(image["id"])["artifacts"]}
    assert set(artifacts) == {ROOTFS, KERNEL, INITRD, PARAMETERS}
    for entry in artifacts.values():
        assert entry["md5"] == entry["link"]["etag"] == sum_of(ims.object(entry["link"]["path"]))
    assert artifacts[ROOTFS]["link"]["path"] == f"s3://boot-images/{image['id']}/rootfs"
    assert ims.file(image["id"], KERNEL) == ims.file(parent["id"], KERNEL)
    assert ims.s3.metadata("boot-images", f"{image['id']}/rootfs", "md5sum") == artifacts[ROOTFS]["md5"]


def test_the_root_file_system_tells_what_was_done(ims: Ims) -> None:
    parent = ims.image()
    job = run(ims, LAYERS)
    data = ims.file(job["resultant_image_id"], ROOTFS)
    assert data.startswith(ims.file(parent["id"], ROOTFS))
    assert read_records(data) == [{"job": "customize", "parent": parent["id"], **LAYERS}]
    log = ims.logs(job["id"])
    assert "+ zypper install slurm\n+ dracut -f" in log
    assert "Uploading 4 image artifacts." in log


def test_the_same_layers_give_the_same_bytes_and_others_do_not(ims: Ims) -> None:
    images = [run(ims, content)["resultant_image_id"] for content in (LAYERS, LAYERS, {**LAYERS, "layers": []}, "")]
    one, same, other_root, by_hand = (ims.file(image, ROOTFS) for image in images)
    assert one == same
    assert len({one, other_root, by_hand}) == 3
    assert read_records(by_hand)[0]["layers"] == []


def test_an_image_of_an_image(ims: Ims) -> None:
    first = run(ims, LAYERS)["resultant_image_id"]
    job = ims.customize(first, "second")["id"]
    ims.until(job, "waiting_on_user")
    ims.touch(job, content={"layers": ["b"], "commands": []})
    second = ims.until(job, "success")["resultant_image_id"]
    layers = read_records(ims.file(second, ROOTFS))
    assert [record["layers"] for record in layers] == [LAYERS["layers"], ["b"]]
    assert layers[1]["parent"] == first


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"layers": 3}', '"x"', "\ud800", "[" * 50_000])
def test_whatever_is_in_the_file(ims: Ims, content: str) -> None:
    job = run(ims, content)
    assert read_records(ims.file(job["resultant_image_id"], ROOTFS))[0]["layers"] == []


def test_marked_as_failed(ims: Ims) -> None:
    count_before = len(ims.get("/v3/images"))
    job = ims.customize(ims.image()["id"])["id"]
    ims.until(job, "waiting_on_user")
    ims.touch(job, "/mnt/image/failed")
    assert ims.until(job, "error")["resultant_image_id"] is None
    assert len(ims.get("/v3/images")) == count_before
    assert "A new IMS image will not be created." in ims.logs(job)


def test_a_jail_signals_in_its_own_tmp(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"], ssh_containers=[{"name": "x", "jail": True}])["id"]
    ims.until(job, "waiting_on_user")
    assert '"/mnt/image/image-root/tmp/complete"' in ims.logs(job)
    ims.touch(job, "/mnt/image/image-root/tmp/complete")
    ims.until(job, "success")


def test_other_files_end_nothing(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    ims.touch(job)  # too early: the pod removes it before it starts sshd
    ims.until(job, "waiting_on_user")
    for path in ("/tmp/complete", "/mnt/image/completed", "/mnt/image/x/complete"):  # noqa: S108
        ims.touch(job, path)
    ims.step(600)
    assert ims.job(job)["status"] == "waiting_on_user"


def test_the_parent_image_may_be_deleted_during_the_job(ims: Ims) -> None:
    parent = ims.image()
    whole = ims.file(parent["id"], ROOTFS)
    job = ims.customize(parent["id"])["id"]
    ims.until(job, "waiting_on_user")
    ims.do("DELETE", f"/v2/images/{parent['id']}", status=204)
    ims.touch(job)
    image = ims.until(job, "success")["resultant_image_id"]
    assert ims.file(image, ROOTFS).startswith(whole)


@pytest.mark.parametrize("status", ["creating", "fetching_image", "waiting_on_user", "packaging_artifacts"])
def test_a_restart_on_the_way(ims: Ims, status: str) -> None:
    parent, other_ims = ims.image(), Ims.open(ims.site.state_file.path.with_name("other"))
    job = ims.customize(parent["id"])["id"]
    if status == "packaging_artifacts":
        ims.until(job, "waiting_on_user")
        ims.touch(job, content=LAYERS)
    ims.until(job, status)
    ims = ims.again()
    if status != "packaging_artifacts":
        ims.until(job, "waiting_on_user")
        ims.touch(job, content=LAYERS)
    image = ims.until(job, "success")["resultant_image_id"]
    assert ims.file(image, ROOTFS) == other_ims.file(run(other_ims, LAYERS)["resultant_image_id"], ROOTFS)


def test_it_leaves_nothing_behind(ims: Ims) -> None:
    job = run(ims)["id"]
    kinds = (ROOTFS, KERNEL, INITRD, PARAMETERS)
    assert [kind for kind in kinds if ims.site.context.blobs.get(f"ims/{job}/{kind}")] == []
    ims.do("DELETE", f"/v3/jobs/{job}", status=204)
    assert list(ims.site.context.cluster.pods("ims")) == []
    assert ims.ask("GET", f"/v3/jobs/{job}").status == 404


def test_deleted_on_the_way(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    ims.until(job, "waiting_on_user")
    images_before = ims.get("/v3/images")
    ims.do("DELETE", f"/v2/jobs/{job}", status=204)
    ims.step(3600)
    assert ims.get("/v3/images") == images_before
    assert ims.get("/v3/jobs") == []
    assert list(ims.site.context.cluster.pods("ims")) == []


def test_a_pod_that_a_client_deletes_leaves_the_job_as_it_is(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    ims.until(job, "waiting_on_user")
    ims.site.context.cluster.delete_pod("ims", ims.pod(job).name)
    ims.step(3600)
    assert ims.job(job)["status"] == "waiting_on_user"
    ims.do("DELETE", f"/v3/jobs/{job}", status=204)


def test_names_that_boot_does_not_have(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"], kernel_file_name="bzImage")["id"]
    ims.until(job, "waiting_on_user")
    ims.touch(job)
    assert ims.until(job, "error")["resultant_image_id"] is None
    assert "Image artifact /mnt/image/image-root/boot/bzImage does not exist" in ims.logs(job)
    assert ims.pod(job).phase == "Failed"


def test_without_kernel_parameters(ims: Ims) -> None:
    job = run(ims, kernel_parameters_file_name="none")
    kinds = [entry["type"] for entry in ims.manifest(job["resultant_image_id"])["artifacts"]]
    assert kinds == [ROOTFS, KERNEL, INITRD]
    assert "Uploading 3 image artifacts." in ims.logs(job["id"])


def test_an_image_of_a_root_file_system_alone_has_no_kernel_to_package(ims: Ims) -> None:
    image = ims.do("POST", "/v3/images", {"name": "bare", "link": ims.new_manifest("bare")}, 201)["id"]
    job = ims.customize(image)["id"]
    ims.until(job, "waiting_on_user")
    ims.touch(job)
    ims.until(job, "error")


def test_the_file_goes_before_it_is_fetched(ims: Ims) -> None:
    image = ims.image()
    job = ims.customize(image["id"])["id"]
    ims.s3.delete("boot-images", f"{image['id']}/rootfs")
    ims.until(job, "fetching_image")
    ims.step(100)
    assert ims.job(job)["status"] == "fetching_image"
    ims.until(job, "error")
    assert "after 20 tries." in ims.logs(job)
    assert ims.pod(job).phase == "Failed"


def test_the_file_is_another_when_it_is_fetched(ims: Ims) -> None:
    image = ims.image()
    job = ims.customize(image["id"])["id"]
    ims.s3.put("boot-images", f"{image['id']}/rootfs", b"something else")
    ims.until(job, "error")
    assert "The calculated md5sum does not match the expected value." in ims.logs(job)


def test_s3_is_away_while_it_uploads(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    ims.until(job, "waiting_on_user")
    ims.touch(job)
    ims.until(job, "packaging_artifacts")
    fault = ims.break_("server-error", "s3")
    ims.step(900)
    assert ims.job(job)["status"] == "packaging_artifacts"
    assert "Re-attempting in" in ims.logs(job)
    ims.site.clear_fault(fault)
    image_id = ims.until(job, "success")["resultant_image_id"]
    assert [image["id"] for image in ims.get("/v3/images") if image["name"] == "mine"] == [image_id]


def test_ims_is_away_when_the_status_is_to_be_set(ims: Ims) -> None:
    """The pod does not repeat a refused request: it goes on, and the job keeps its status."""
    job = ims.customize(ims.image()["id"])["id"]
    ims.until(job, "fetching_image")
    fault = ims.break_("server-error", "ims")
    ims.step(300)
    ims.site.clear_fault(fault)
    assert ims.job(job)["status"] == "fetching_image"
    assert f"Could not set job status for job {job} to waiting_on_user" in ims.logs(job)
    ims.touch(job)
    ims.until(job, "success")


@pytest.mark.parametrize("target", ["id", "mine", "*"])
def test_stuck(ims: Ims, target: str) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    ims.break_("image-job-stuck", job if target == "id" else target, status="packaging_artifacts")
    ims.until(job, "waiting_on_user")
    ims.touch(job)
    ims.until(job, "packaging_artifacts")
    ims.step(7200)
    assert ims.job(job)["status"] == "packaging_artifacts"
    ims.do("DELETE", f"/v3/jobs/{job}", status=204)


def test_stuck_where_they_usually_are(ims: Ims) -> None:
    job = ims.customize(ims.image()["id"])["id"]
    ims.break_("image-job-stuck", "another-image,mine")
    ims.until(job, "waiting_on_user")
    ims.touch(job)
    ims.step(7200)
    assert ims.job(job)["status"] == "waiting_on_user"


def test_times_differ_by_job_and_not_by_luck(ims: Ims) -> None:
    jobs = [ims.customize(ims.image()["id"])["id"] for _ in range(3)]
    began = ims.site.clock.now()
    ends = []
    for job in jobs:
        ims.until(job, "waiting_on_user")
        ends.append(ims.site.clock.now() - began)
    assert all(25 < seconds < 130 for seconds in ends)
    manifest = json.dumps(ims.manifest(ims.image()["id"]))
    assert manifest == json.dumps(Ims.open(ims.site.state_file.path.with_name("twin")).manifest(ims.image()["id"]))
