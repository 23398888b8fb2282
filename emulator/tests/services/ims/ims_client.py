"""IMS as a client sees it, with S3 and the cluster behind it."""

from __future__ import annotations

import json
from hashlib import md5
from pathlib import Path
from typing import Any

from csm_emulator.cluster.pods import Pod
from csm_emulator.seed_data.images import ROOTFS
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.services.ims.images.artifacts import S3WithMetadata
from csm_emulator.site import Site
from csm_emulator.transport.call import JSON, Reply
from service_client import Service, open_site, reopen

RSA = "ssh-rsa AAAAB3Nza canton"


class Ims(Service):
    def __init__(self, site: Site) -> None:
        super().__init__(site, "ims", "")

    @classmethod
    def open(cls, path: Path) -> Ims:
        return cls(open_site(path))

    def again(self) -> Ims:
        """IMS after a restart of the emulator."""
        return Ims(reopen(self.site))

    @property
    def s3(self) -> S3WithMetadata:
        return S3WithMetadata(self.site.mesh, s3_keys(self.site.random))

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        return super().ask(method, path, body, headers or ({} if body is None else {"content-type": JSON}))

    def do(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        reply = self.ask(method, path, body)
        assert reply.status == status, (reply.status, reply.body)
        return reply.json() if reply.body else None

    def image(self, name: str = "compute") -> dict[str, Any]:
        """An image of the seed data."""
        return dict(next(image for image in self.get("/v3/images") if image["name"].startswith(name)))

    def recipe(self) -> dict[str, Any]:
        return dict(self.get("/v3/recipes")[0])

    def key(self) -> str:
        return str(self.do("POST", "/v3/public-keys", {"name": "mine", "public_key": RSA}, 201)["id"])

    def customize(self, image: str, name: str = "mine", **more: Any) -> dict[str, Any]:
        body = {
            "job_type": "customize",
            "artifact_id": image,
            "public_key_id": self.key(),
            "image_root_archive_name": name,
            **more,
        }
        return dict(self.do("POST", "/v3/jobs", body, 201))

    def create(self, recipe: str, name: str = "built", **more: Any) -> dict[str, Any]:
        return self.customize(recipe, name, job_type="create", **more)

    def job(self, job_id: str) -> dict[str, Any]:
        return dict(self.get(f"/v3/jobs/{job_id}"))

    def until(self, job_id: str, status: str, most: float = 1200.0) -> dict[str, Any]:
        """The job when it has this status; virtual time goes on until then."""
        end = self.site.clock.now() + most
        while (job := self.job(job_id))["status"] != status:
            assert self.site.clock.now() < end, f"{job['status']}, not {status}: {self.logs(job_id)}"
            self.step(1.0)
        return job

    def pod(self, job_id: str) -> Pod:
        return next(pod for pod in self.site.context.cluster.pods("ims") if job_id in pod.name)

    def logs(self, job_id: str) -> str:
        """The logs of all containers."""
        pod = self.pod(job_id)
        cluster = self.site.context.cluster
        return "\n".join(text for one in pod.containers for _, text in cluster.log("ims", pod.name, one.name))

    def touch(self, job_id: str, path: str = "/mnt/image/complete", content: Any = "") -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        self.site.context.cluster.write_file("ims", self.pod(job_id).name, "sshd", path, text)

    def manifest(self, image_id: str, version: str = "/v3") -> dict[str, Any]:
        link = self.get(f"{version}/images/{image_id}")["link"]
        return dict(json.loads(self.object(link["path"])))

    def object(self, path: str) -> bytes:
        data = self.find(path)
        assert data is not None, path
        return data

    def find(self, path: str) -> bytes | None:
        bucket, _, key = path.removeprefix("s3://").partition("/")
        return self.s3.get(bucket, key)

    def file(self, image_id: str, kind: str) -> bytes:
        link = next(entry["link"] for entry in self.manifest(image_id)["artifacts"] if entry["type"] == kind)
        return self.object(link["path"])

    def new_manifest(self, key: str, body: Any = None, kind: str = ROOTFS) -> dict[str, str]:
        """Puts an image's files into S3, without a record; a link to the manifest."""
        data = key.encode()
        self.s3.put("boot-images", f"{key}/rootfs", data)
        link = {"type": "s3", "path": f"s3://boot-images/{key}/rootfs"}
        usual = {"version": "1.0", "artifacts": [{"type": kind, "md5": sum_of(data), "link": link}]}
        manifest_bytes = body if isinstance(body, bytes) else json.dumps(usual if body is None else body).encode()
        etag = self.s3.put("boot-images", f"{key}/manifest.json", manifest_bytes)
        return {"type": "s3", "path": f"s3://boot-images/{key}/manifest.json", "etag": etag}


def sum_of(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()
