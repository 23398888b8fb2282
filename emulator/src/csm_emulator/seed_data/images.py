"""The initial images and recipes of a site.

There is an image for each role and architecture of the machine, which BSS's initial entries name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from csm_emulator.machine.parts import Topology
from csm_emulator.seed_data import image_files
from csm_emulator.seed_data.buckets import BOOT_IMAGES, etag, s3_link
from csm_emulator.seed_data.recipe import Recipe
from csm_emulator.state.random import SeededRandom

KIND = "application/vnd.cray.image."
ROOTFS, KERNEL, INITRD, PARAMETERS = (
    f"{KIND}rootfs.squashfs",
    f"{KIND}kernel",
    f"{KIND}initrd",
    f"{KIND}parameters.boot",
)
ARCHES = {"X86": "x86_64", "ARM": "aarch64"}
"""HSM's name of an architecture → IMS's."""
BUILT = 1_746_000_000
"""30 April 2025, the time of CSM 1.6.1."""
_CSM = "csm-1.6.1"
_NAMES = {
    "Compute": "compute-{csm}-{arch}",
    "Application": "uan-uss-1.2.0-{csm}-{arch}",
    "Management": "secure-kubernetes-6.1.112-{arch}",
    "Storage": "secure-storage-ceph-6.1.112-{arch}",
}
_BAREBONES = "cray-shasta-csm-sles15sp5-barebones-{csm}-{arch}"
RELEASES = {"x86_64": "5.14.21-150500.55.97-default", "aarch64": "5.14.21-150500.55.97-64kb"}
_CONSOLE = {"x86_64": "console=ttyS0,115200", "aarch64": "console=ttyAMA0,115200"}
_BOOT_PARAMETERS = (
    "{console} bad_page=panic crashkernel=512M hugepagelist=2m-2g iommu.passthrough=on oops=panic "
    "pageblock_order=14 rd.neednet=1 rd.retry=10 rd.shell systemd.unified_cgroup_hierarchy=1 ip=dhcp quiet "
    "spire_join_token=${{SPIRE_JOIN_TOKEN}}\n"
)


@dataclass(frozen=True, slots=True)
class Artefact:
    """One file of an image."""

    kind: str
    key: str
    """In the bucket ``boot-images``."""
    data: bytes
    media: str = "binary/octet-stream"

    @property
    def md5(self) -> str:
        return etag(self.data)

    def entry(self) -> dict[str, object]:
        """Its entry in a manifest."""
        return {"type": self.kind, "md5": self.md5, "link": s3_link(BOOT_IMAGES, self.key, self.md5)}


@dataclass(frozen=True)
class Image:
    """An image with its files; IMS has a record of it."""

    id: str
    name: str
    arch: str
    """x86_64 or aarch64."""
    created: int

    @cached_property
    def artefacts(self) -> tuple[Artefact, ...]:
        about, init = f"{self.name} {self.id}", b"#!/bin/sh\nexec /usr/lib/systemd/systemd\n"
        release = RELEASES[self.arch]
        return (
            Artefact(ROOTFS, f"{self.id}/rootfs", image_files.squashfs(about, self.created)),
            Artefact(KERNEL, f"{self.id}/kernel", image_files.kernel(self.arch, release, about)),
            Artefact(
                INITRD,
                f"{self.id}/initrd",
                image_files.initrd({"init": init, "etc/initrd-release": f"ID={self.name}\n".encode()}),
            ),
            Artefact(
                PARAMETERS,
                f"{self.id}/boot_parameters",
                _BOOT_PARAMETERS.format(console=_CONSOLE[self.arch]).encode(),
                "text/plain",
            ),
        )

    @cached_property
    def manifest(self) -> bytes:
        artefacts = [artefact.entry() for artefact in self.artefacts]
        return json.dumps({"version": "1.0", "created": _stamp(self.created), "artifacts": artefacts}).encode()

    @property
    def manifest_key(self) -> str:
        return f"{self.id}/manifest.json"

    @property
    def link(self) -> dict[str, str]:
        """The link in IMS's record."""
        return s3_link(BOOT_IMAGES, self.manifest_key, etag(self.manifest))


def image_id(random: SeededRandom, role: str, arch: str) -> str:
    """The id of the image for nodes of a role (Compute, …) and architecture (X86 or ARM, as in HSM)."""
    return random.uuid("bss.image", role, arch)


def boot_image(random: SeededRandom, role: str, arch: str) -> Image:
    word = ARCHES.get(arch, "x86_64")
    name = _NAMES.get(role, f"{role.lower() or 'node'}-{{csm}}-{{arch}}").format(csm=_CSM, arch=word)
    return Image(
        image_id(random, role, arch), name, word, BUILT + int(random.between(0, 86_400, "image.built", role, arch))
    )


def images(topology: Topology, random: SeededRandom) -> tuple[Image, ...]:
    """All initial images; none for a machine without nodes."""
    roles = [boot_image(random, role, arch) for role, arch in _kinds(topology)]
    bare = [
        Image(random.uuid("image.barebones", arch), _BAREBONES.format(csm=_CSM, arch=arch), arch, BUILT)
        for arch in _arches(topology)
    ]
    return (*roles, *bare)


def recipes(topology: Topology, random: SeededRandom) -> tuple[Recipe, ...]:
    return tuple(
        Recipe(random.uuid("recipe.barebones", arch), _BAREBONES.format(csm=_CSM, arch=arch), arch, BUILT)
        for arch in _arches(topology)
    )


def _kinds(topology: Topology) -> Iterator[tuple[str, str]]:
    """(role, architecture) of the nodes, without duplicates, in the order of BSS's initial entries."""
    kinds: set[tuple[str, str]] = set()
    for part in topology.parts.values():
        if part.type != "Node":
            continue
        place = topology.places.get(part.xname)
        kind = (place.role if place else "", part.model.arch if part.model else "")
        if kind not in kinds:
            kinds.add(kind)
            yield kind


def _arches(topology: Topology) -> list[str]:
    return sorted({ARCHES.get(arch, "x86_64") for _, arch in _kinds(topology)})


def _stamp(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y%m%d%H%M%S")
