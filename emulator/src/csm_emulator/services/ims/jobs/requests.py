"""Checks of a request for a job, and the image or recipe that the job starts from."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.records import Json, Record
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts
from csm_emulator.services.ims.images.manifests import UnreadableManifest, entries, find_rootfs, read_manifest
from csm_emulator.services.ims.responses import internal_error, problem
from csm_emulator.services.ims.tables import Tables

_RERUN = "the specific information that is missing or invalid and then re-run the request with valid information."
_KERNELS = {schemas.ARM: "Image", schemas.X86: "vmlinuz"}


@dataclass(frozen=True, slots=True)
class JobSource:
    """The image or recipe that a job starts from, and its file in S3."""

    record: Record
    link: Json
    md5: str
    """The expected MD5 sum of the file; empty when it is unknown."""
    files: dict[str, Json]
    """Links to the image's other files by type: the content of its ``/boot``."""


def ssh_containers(request: Record) -> list[Record] | None:
    containers: list[Record] | None = request.get("ssh_containers")
    if request["job_type"] == schemas.CREATE:
        if containers:
            raise problem(
                400,
                "User defined ssh containers during image create are not currently supported. Determine the specific "
                "information that is missing or invalid and then re-run the request with valid information.",
            )
        return [{"name": "debug", "jail": False}] if request["enable_debug"] else containers
    if not containers:
        return [{"name": "customize", "jail": False}]
    if len(containers) > 1:
        raise problem(
            400,
            "Only one SSH container is currently supported. Please remove additional containers, determine the "
            "specific information that is missing or invalid and then re-run the request with valid information.",
        )
    return containers


def find_source(tables: Tables, artifacts: Artifacts, request: Record) -> JobSource:
    creates = request["job_type"] == schemas.CREATE
    record = _record(tables, request["artifact_id"], "recipe" if creates else "image")
    md5 = _validated(artifacts, record["link"])
    if creates:
        return JobSource(record, record["link"], md5, {})
    try:
        manifest = read_manifest(artifacts, record["link"])
    except UnreadableManifest:
        raise internal_error() from None
    rootfs = find_rootfs(manifest, record["id"])
    md5 = _validated(artifacts, rootfs["link"]) or str(rootfs.get("md5") or "")
    files = {str(entry["type"]): entry["link"] for entry in entries(manifest) if entry.get("link")}
    return JobSource(record, rootfs["link"], md5, files)


def _record(tables: Tables, record_id: str, kind: str) -> Record:
    record = (tables.recipes if kind == "recipe" else tables.images).get(record_id)
    if record is None:
        raise problem(
            400,
            f"Invalid artifact_id value in job request. No IMS {kind} record found matching id={record_id}. "
            f"Determine {_RERUN}",
        )
    if not record["link"]:
        raise problem(
            400,
            f"The IMS {kind} does not have an artifact_link for {kind}_id={record_id}. Please determine {_RERUN}",
        )
    return record


def _validated(artifacts: Artifacts, link: Json) -> str:
    try:
        return artifacts.validate(link)
    except ArtifactMissing as missing:
        raise problem(422, str(missing)) from None


def check_public_key(tables: Tables, key_id: str) -> None:
    if key_id not in tables.public_keys:
        raise problem(
            400, f"Invalid public_key_id value in job request. No IMS public-key record found matching id={key_id}"
        )


def kernel_name(request: Record, arch: str) -> str:
    return request.get("kernel_file_name") or _KERNELS[arch]


def needs_dkms(request: Record, source: JobSource, *, requested: bool) -> bool:
    """Whether the job needs DKMS: always on aarch64, otherwise as requested, or by default as the recipe says."""
    if source.record["arch"] == schemas.ARM:
        return True
    if not requested and request["job_type"] == schemas.CREATE:
        return bool(source.record["require_dkms"])
    return bool(request["require_dkms"])
