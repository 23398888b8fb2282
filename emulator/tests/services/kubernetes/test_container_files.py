"""Files that clients read in the containers of CFS and IMS, with the clients' own commands."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from csm_emulator.cluster.pods import Exec, Pod
from csm_emulator.services.kubernetes.containers.shell import ContainerShell
from csm_emulator.site import Site
from services.cfs_runs.lab import JSON_BODY, NODE, Lab
from services.kubernetes.api import Api

FILE = "/inventory/hosts/01-cfs-generated.yaml"


def run(api: Api, pod: Pod, container: str, *argv: str) -> str:
    """The output of a command that must succeed."""
    out: list[bytes] = []

    async def read() -> bytes:
        return b""

    async def write(data: bytes) -> None:
        out.append(data)

    shell = ContainerShell(api.site.context)
    code = api.runner.run(shell.run(Exec(pod, container, list(argv), False, read, write, write)))
    assert code == 0, out
    return b"".join(out).decode()


@pytest.fixture
def lab(tiny: Site) -> Lab:
    return Lab(tiny)


def waiting_image(lab: Lab) -> tuple[str, Pod]:
    """An image that a session works on, and the pod of the session."""
    lab.configure("c", lab.layer("one", "- hosts: all\n  tasks:\n    - pause: {seconds: 600}\n"))
    image = str(lab.ims.get("/images")[0]["id"])
    groups = [{"name": "Compute", "members": [image]}]
    lab.start("s", "c", target={"definition": "image", "groups": groups, "image_map": []})
    lab.until_layer("s")
    return image, lab.pods("s")[0]


def test_manta_finds_the_image_that_a_session_works_on(lab: Lab, api: Api) -> None:
    """The check of csm-rs before it opens a shell in the image (src/node/console.rs)."""
    image, pod = waiting_image(lab)
    script = f"cat {FILE} | grep cray-ims- | head -n 1"
    line = run(api, pod, "ansible", "sh", "-c", script).strip()
    job = line.removeprefix("ansible_host: ").removesuffix("-service.ims.svc.cluster.local")
    assert line == f"ansible_host: {job}-service.ims.svc.cluster.local"
    pods = api.get(f"/api/v1/namespaces/ims/pods?labelSelector=job-name%3D{job}-customize&limit=1")["items"]
    (target,) = [one for one in lab.site.context.cluster.pods("ims") if one.name == pods[0]["metadata"]["name"]]
    assert "mnt\n" in run(api, target, "sshd", "bash", "-c", "ls /")
    assert run(api, target, "sshd", "ls", "/mnt/image").split() == ["image-root", "ready"]
    assert {"bin", "boot", "etc", "usr"} <= set(run(api, target, "sshd", "ls", "/mnt/image/image-root").split())
    assert 'ID="sles"' in run(api, target, "sshd", "sh", "-c", "cat /mnt/image/image-root/etc/os-release | grep ^ID=")
    inventory = yaml.safe_load(run(api, pod, "ansible", "cat", FILE))
    assert set(inventory) == {"Compute", "cfs_image"}
    assert inventory["Compute"]["hosts"] == {image: {}}
    assert inventory["cfs_image"]["hosts"][image]["ansible_port"] == 22
    jobs = yaml.safe_load(run(api, pod, "teardown", "cat", "/inventory/image_to_job.yaml"))
    assert [(one["image_id"], f"cray-ims-{one['job_id']}") for one in jobs.values()] == [(image, job)]


def test_the_inventory_of_a_dynamic_session_and_of_a_list(lab: Lab, api: Api) -> None:
    lab.configure("c", lab.layer("one", "- hosts: all\n  tasks:\n    - pause: {seconds: 600}\n"))
    for name, more in (("dynamic", {}), ("spec", {"target": spec()})):
        lab.start(name, "c", **({"ansible_limit": NODE} if name == "dynamic" else {}), **more)
        lab.until_layer(name)
        inventory = yaml.safe_load(run(api, lab.pods(name)[0], "ansible", "cat", FILE))
        groups = inventory["all"]["children"] if name == "dynamic" else inventory
        assert groups["Compute"]["hosts"] == {NODE: {}}
        assert run(api, lab.pods(name)[0], "ansible", "sh", "-c", "ls /inventory; cat /inventory/complete") == (
            "complete\nhosts\n0"
        )
    assert "No such file" in failing(api, lab.pods("spec")[0], "istio-proxy", "cat", FILE)


def spec() -> dict[str, Any]:
    return {"definition": "spec", "groups": [{"name": "Compute", "members": [NODE]}]}


def failing(api: Api, pod: Pod, container: str, *argv: str) -> str:
    with pytest.raises(AssertionError) as problem:
        run(api, pod, container, *argv)
    return str(problem.value)


def test_a_shell_in_an_image_can_end_the_session(lab: Lab, api: Api) -> None:
    image = lab.ims.get("/images")[0]["id"]
    key = lab.ims.ask("POST", "/public-keys", {"name": "k", "public_key": "ssh-rsa x"}, JSON_BODY).json()["id"]
    body = {"job_type": "customize", "image_root_archive_name": "mine", "artifact_id": image, "public_key_id": key}
    job = lab.ims.ask("POST", "/jobs", body, JSON_BODY).json()["id"]
    status = ""
    for _ in range(300):
        lab.site.step(5)
        status = lab.ims.get(f"/jobs/{job}")["status"]
        if status == "waiting_on_user":
            (pod,) = [one for one in lab.site.context.cluster.pods("ims") if job in one.name]
            run(api, pod, "sshd", "bash", "-c", "touch /mnt/image/complete")
        elif status == "success":
            break
    assert status == "success"
