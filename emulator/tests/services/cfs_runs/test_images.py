"""Sessions that customise images, with IMS."""

from __future__ import annotations

import json
from typing import Any

from csm_emulator.transport.call import Call, Reply
from services.cfs_runs.lab import Lab

PLAYBOOK = """
- hosts: Compute
  tasks:
    - name: Build
      command: /usr/bin/build --for {{ ansible_architecture }}
      when: cray_cfs_image
    - name: Only on nodes
      command: /usr/bin/on-nodes
      when: not cray_cfs_image
"""
BREAKS = "- hosts: all\n  tasks:\n    - fail:\n"


def start(lab: Lab, name: str, configuration: str, **target: Any) -> str:
    """The image that the session works on."""
    image = str(next(one["id"] for one in lab.ims.get("/images") if one["name"].startswith("compute")))
    groups = [{"name": "Compute", "members": [image]}]
    lab.start(name, configuration, target={"definition": "image", "groups": groups, **target})
    return image


def artifacts(lab: Lab, name: str) -> Any:
    return lab.cfs.get(f"/sessions/{name}")["status"]["artifacts"]


def test_an_image_is_made_of_an_image(lab: Lab) -> None:
    layer = lab.layer("one", PLAYBOOK)
    lab.configure("c", layer)
    image = start(lab, "s", "c", image_map=[])
    assert lab.finish("s", 3600) == "true"
    (artifact,) = artifacts(lab, "s")
    result = lab.ims.get(f"/images/{artifact['result_id']}")
    assert artifact == {"image_id": image, "result_id": result["id"], "type": "ims_customized_image"}
    assert result["name"] == lab.ims.get(f"/images/{image}")["name"] + "_cfs_s"
    job = lab.ims.get(f"/jobs/{lab.status('s')['ims_job']}")
    assert (job["status"], job["resultant_image_id"]) == ("success", result["id"])
    assert [one.name for one in lab.pods("s")[0].containers][3] == "teardown"
    lines = lab.log("s")
    (built,) = [line for line in lines if '"/usr/bin/build", "--for", "x86_64"' in line]
    assert built.startswith(f"changed: [{image}] => ")
    assert f"skipping: [{image}]" in lines
    assert lab.ims.get("/public-keys") == []
    assert f"Resultant image={result['id']} from customization of image={image}" in lab.text("s", "teardown")
    (pod,) = [pod for pod in lab.site.context.cluster.pods("ims") if pod.labels["job-name"] == job["kubernetes_job"]]
    marker = lab.site.context.cluster.read_file("ims", pod.name, "sshd", "/mnt/image/image-root/tmp/complete")
    about = {key: layer[key] for key in ("name", "clone_url", "commit", "playbook")}
    assert json.loads(marker or "") == {"layers": [about], "commands": ["/usr/bin/build --for x86_64"]}
    assert "+ /usr/bin/build --for x86_64" in [
        line for _, line in lab.site.context.cluster.log("ims", pod.name, "sshd")
    ]


def test_the_name_of_the_result(lab: Lab) -> None:
    lab.configure("c", {**lab.layer("one", PLAYBOOK), "special_parameters": {"ims_require_dkms": True}})
    image = str(next(one["id"] for one in lab.ims.get("/images") if one["name"].startswith("compute")))
    start(lab, "s", "c", image_map=[{"source_id": image, "result_name": "ours"}])
    assert lab.finish("s", 3600) == "true"
    assert lab.ims.get(f"/images/{artifacts(lab, 's')[0]['result_id']}")["name"] == "ours"
    assert lab.ims.get(f"/jobs/{lab.status('s')['ims_job']}")["require_dkms"] is True


def test_a_playbook_that_fails_makes_no_image(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", BREAKS))
    count_before = len(lab.ims.get("/images"))
    start(lab, "s", "c")
    assert lab.finish("s", 3600) == "false"
    lab.site.step(300)
    assert artifacts(lab, "s") == []
    assert len(lab.ims.get("/images")) == count_before
    assert lab.ims.get(f"/jobs/{lab.status('s')['ims_job']}")["status"] == "error"
    assert "Completed teardown of image customization after failed Ansible run" in lab.text("s", "teardown")


def test_an_image_that_is_not_there(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", PLAYBOOK))
    groups = [{"name": "Compute", "members": ["00000000-0000-4000-8000-000000000000"]}]
    lab.start("s", "c", target={"definition": "image", "groups": groups})
    assert lab.finish("s") == "false"
    assert "404 Client Error" in lab.text("s", "inventory")
    assert lab.log("s")[-1] == "Inventory generation failed. Exiting"
    assert "image_to_job.yaml" in lab.text("s", "teardown")
    assert lab.ims.get("/public-keys") == []


def test_ims_is_stuck(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", PLAYBOOK))
    lab.cfs.break_("image-job-stuck", "*", status="fetching_image")
    start(lab, "s", "c")
    assert lab.finish("s", 3600) == "running"
    assert lab.log("s") == ["Waiting for Inventory"]


def test_ims_does_not_answer_for_a_while(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", PLAYBOOK))
    silent = [(10.0, 40.0), (130.0, 200.0)]
    refused: list[str] = []

    def listen(service: str, call: Call) -> Reply:
        asks = service == "ims" and call.path.startswith("/v3/")  # IMS's own pods leave the version out
        if asks and any(start <= lab.now <= end for start, end in silent):
            refused.append(call.path)
            return Reply(503)
        return lab.site.ask(service, call)

    lab.site.mesh._ask = listen
    start(lab, "s", "c")
    assert lab.finish("s", 3600) == "true"
    assert len(artifacts(lab, "s")) == 1
    assert len(refused) > 8
    assert "Attempt 2 will proceed after 5 second quiesce." in lab.text("s", "teardown")


def test_what_is_left_when_the_pod_or_the_session_goes(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", PLAYBOOK))
    start(lab, "s", "c")
    start(lab, "t", "c")
    lab.until_layer("s")
    lab.until_layer("t")
    first_job, deleted = lab.status("s")["ims_job"], lab.status("t")["ims_job"]
    lab.site.context.cluster.delete_pod("services", lab.pods("s")[0].name)
    lab.do("DELETE", "/sessions/t")
    assert lab.ims.ask("GET", f"/jobs/{deleted}").status == 404
    assert lab.ims.ask("GET", f"/jobs/{first_job}").status == 200
    lab.site.step(180)
    assert lab.status("s")["succeeded"] == "false"
    assert lab.ims.ask("GET", f"/jobs/{first_job}").status == 404


def test_what_the_job_asks_of_ims(lab: Lab) -> None:
    lab.configure("c", lab.layer("one", PLAYBOOK))
    calls: list[tuple[str, str, Any]] = []

    def listen(service: str, call: Call) -> Reply:
        if service == "ims" and call.method in ("POST", "DELETE"):
            calls.append((call.method, call.path, json.loads(call.body) if call.body else None))
        return lab.site.ask(service, call)

    lab.site.mesh._ask = listen
    image = start(lab, "s", "c")
    lab.until_layer("s")
    (_, keys, key), (_, jobs, job), (method, deleted_path, _) = calls
    assert (keys, key["name"]) == ("/v3/public-keys", "cfs_s")
    assert key["public_key"].startswith("ecdsa-sha2-nistp256 ")
    assert jobs == "/v3/jobs"
    assert job == {
        "job_type": "customize",
        "image_root_archive_name": job["image_root_archive_name"],
        "artifact_id": image,
        "public_key_id": deleted_path.rpartition("/")[2],
        "ssh_containers": [{"name": "s", "jail": True}],
    }
    assert method == "DELETE"
