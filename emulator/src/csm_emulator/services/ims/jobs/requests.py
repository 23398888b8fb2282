"""Whether a job can be begun, and what it goes out from."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.records import Json, Record
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts
from csm_emulator.services.ims.images.manifests import Unreadable, entries, find_rootfs, read_manifest
from csm_emulator.services.ims.responses import crashed, problem
from csm_emulator.services.ims.schemas import bodies as forms
from csm_emulator.services.ims.tables import Tables

_RERUN = "the specific information that is missing or invalid and then re-run the request with valid information."
_KERNELS = {forms.ARM: "Image", forms.X86: "vmlinuz"}


@dataclass(frozen=True, slots=True)
class Source:
    """The image or the recipe, and its file."""

    record: Record
    link: Json
    md5: str
    """What the file is held against; empty when nobody knows."""
    files: dict[str, Json]
    """Links to the image's other files, by kind: what lies in its /boot."""


def ssh_containers(given: Record) -> list[Record] | None:
    containers: list[Record] | None = given.get("ssh_containers")
    if given["job_type"] == forms.CREATE:
        if containers:
            raise problem(
                400,
                "User defined ssh containers during image create are not currently supported. Determine the specific "
                "information that is missing or invalid and then re-run the request with valid information.",
            )
        return [{"name": "debug", "jail": False}] if given["enable_debug"] else containers
    if not containers:
        return [{"name": "customize", "jail": False}]
    if len(containers) > 1:
        raise problem(
            400,
            "Only one SSH container is currently supported. Please remove additional containers, determine the "
            "specific information that is missing or invalid and then re-run the request with valid information.",
        )
    return containers


def find_source(tables: Tables, artifacts: Artifacts, given: Record) -> Source:
    creates = given["job_type"] == forms.CREATE
    record = _record(tables, given["artifact_id"], "recipe" if creates else "image")
    md5 = _validated(artifacts, record["link"])
    if creates:
        return Source(record, record["link"], md5, {})
    try:
        manifest = read_manifest(artifacts, record["link"])
    except Unreadable:
        raise crashed() from None
    rootfs = find_rootfs(manifest, record["id"])
    md5 = _validated(artifacts, rootfs["link"]) or str(rootfs.get("md5") or "")
    files = {str(entry["type"]): entry["link"] for entry in entries(manifest) if entry.get("link")}
    return Source(record, rootfs["link"], md5, files)


def _record(tables: Tables, wanted: str, kind: str) -> Record:
    record = (tables.recipes if kind == "recipe" else tables.images).get(wanted)
    if record is None:
        raise problem(
            400,
            f"Invalid artifact_id value in job request. No IMS {kind} record found matching id={wanted}. "
            f"Determine {_RERUN}",
        )
    if not record["link"]:
        raise problem(
            400,
            f"The IMS {kind} does not have an artifact_link for {kind}_id={wanted}. Please determine {_RERUN}",
        )
    return record


def _validated(artifacts: Artifacts, link: Json) -> str:
    try:
        return artifacts.validate(link)
    except ArtifactMissing as missing:
        raise problem(422, str(missing)) from None


def check_public_key(tables: Tables, wanted: str) -> None:
    if wanted not in tables.public_keys:
        raise problem(
            400, f"Invalid public_key_id value in job request. No IMS public-key record found matching id={wanted}"
        )


def kernel_name(given: Record, arch: str) -> str:
    return given.get("kernel_file_name") or _KERNELS[arch]


def needs_dkms(given: Record, source: Source, *, asked: bool) -> bool:
    """arm64 always does; else as asked, or as the recipe says."""
    if source.record["arch"] == forms.ARM:
        return True
    if not asked and given["job_type"] == forms.CREATE:
        return bool(source.record["require_dkms"])
    return bool(given["require_dkms"])
