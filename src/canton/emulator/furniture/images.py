"""The images and recipes of a site on its first day, and their objects in S3.

What BSS's entries of the first day name is here: an image for each role and architecture that the machine has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import md5

from canton.emulator.furniture import image_files
from canton.emulator.machine.dice import Dice
from canton.emulator.machine.parts import Topology

BOOT_IMAGES, IMS = "boot-images", "ims"
BUCKETS = (
    "admin-tools",
    BOOT_IMAGES,
    "etcd-backup",
    "fw-update",
    IMS,
    "install-artifacts",
    "ncn-images",
    "nmd",
    "postgres-backup",
    "prs",
    "sat",
    "sds",
    "sls",
    "sma",
    "ssd",
    "ssm",
    "thanos",
    "vbis",
    "velero",
    "wlm",
)
"""As CSM's storage role makes them."""
KIND = "application/vnd.cray.image."
ROOTFS, KERNEL, INITRD, PARAMETERS = (
    f"{KIND}rootfs.squashfs",
    f"{KIND}kernel",
    f"{KIND}initrd",
    f"{KIND}parameters.boot",
)
ARCHES = {"X86": "x86_64", "ARM": "aarch64"}
"""HSM's word for an architecture, and IMS's."""
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
_RELEASE = {"x86_64": "5.14.21-150500.55.97-default", "aarch64": "5.14.21-150500.55.97-64kb"}
_CONSOLE = {"x86_64": "console=ttyS0,115200", "aarch64": "console=ttyAMA0,115200"}
_BOOT_PARAMETERS = (
    "{console} bad_page=panic crashkernel=512M hugepagelist=2m-2g iommu.passthrough=on oops=panic "
    "pageblock_order=14 rd.neednet=1 rd.retry=10 rd.shell systemd.unified_cgroup_hierarchy=1 ip=dhcp quiet "
    "spire_join_token=${{SPIRE_JOIN_TOKEN}}\n"
)
_KIWI = """<?xml version="1.0" encoding="utf-8"?>
<image schemaversion="7.4" name="{name}">
  <description type="system">
    <author>Cray</author>
    <contact>root@localhost</contact>
    <specification>Barebones image, {arch}</specification>
  </description>
  <preferences>
    <version>1.6.1</version>
    <packagemanager>zypper</packagemanager>
    <type image="tbz"/>
  </preferences>
  <repository type="rpm-md" alias="SUSE-SLE-Module-Basesystem-15-SP5-{arch}-Updates" priority="2">
    <source path="https://packages.local/repository/SUSE-SLE-Module-Basesystem-15-SP5-{arch}-Updates"/>
  </repository>
  <packages type="image">
    <package name="kernel-default"/>
    <package name="dracut"/>
    <package name="cloud-init"/>
  </packages>
  <packages type="bootstrap">
    <package name="filesystem"/>
    <package name="glibc-locale"/>
  </packages>
</image>
"""
_CONFIG_SH = "#!/bin/bash\nset -euo pipefail\nbaseInsertService cloud-init\nbaseInsertService sshd\nexit 0\n"


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
        """As a manifest names it."""
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
        release = _RELEASE[self.arch]
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
        """As IMS's record has it."""
        return s3_link(BOOT_IMAGES, self.manifest_key, etag(self.manifest))


@dataclass(frozen=True)
class Recipe:
    id: str
    name: str
    arch: str
    created: int
    recipe_type: str = "kiwi-ng"
    linux_distribution: str = "sles15"

    @cached_property
    def data(self) -> bytes:
        kiwi = _KIWI.format(name=self.name, arch=self.arch)
        return image_files.tarball({"config.xml": kiwi.encode(), "config.sh": _CONFIG_SH.encode()}, self.created)

    @property
    def key(self) -> str:
        """In the bucket ``ims``."""
        return f"recipes/{self.id}/recipe.tar.gz"

    @property
    def link(self) -> dict[str, str]:
        return s3_link(IMS, self.key, etag(self.data))


@dataclass(frozen=True, slots=True)
class SeedObject:
    """What lies in a bucket on the first day."""

    data: bytes
    media: str
    created: int


def image_id(dice: Dice, role: str, arch: str) -> str:
    """Of what nodes of this role (Compute, …) and architecture (X86 or ARM, as HSM says) boot."""
    return dice.uuid("bss.image", role, arch)


def boot_image(dice: Dice, role: str, arch: str) -> Image:
    word = ARCHES.get(arch, "x86_64")
    name = _NAMES.get(role, f"{role.lower() or 'node'}-{{csm}}-{{arch}}").format(csm=_CSM, arch=word)
    return Image(
        image_id(dice, role, arch), name, word, BUILT + int(dice.between(0, 86_400, "image.built", role, arch))
    )


def images(topology: Topology, dice: Dice) -> tuple[Image, ...]:
    """Nothing for a machine without nodes."""
    roles = [boot_image(dice, role, arch) for role, arch in _kinds(topology)]
    bare = [
        Image(dice.uuid("image.barebones", arch), _BAREBONES.format(csm=_CSM, arch=arch), arch, BUILT)
        for arch in _arches(topology)
    ]
    return (*roles, *bare)


def recipes(topology: Topology, dice: Dice) -> tuple[Recipe, ...]:
    return tuple(
        Recipe(dice.uuid("recipe.barebones", arch), _BAREBONES.format(csm=_CSM, arch=arch), arch, BUILT)
        for arch in _arches(topology)
    )


def objects(topology: Topology, dice: Dice) -> Mapping[tuple[str, str], SeedObject]:
    """By bucket and key, everything that lies in S3 on the first day."""
    found: dict[tuple[str, str], SeedObject] = {}
    for image in images(topology, dice):
        for artefact in image.artefacts:
            found[BOOT_IMAGES, artefact.key] = SeedObject(artefact.data, artefact.media, image.created)
        found[BOOT_IMAGES, image.manifest_key] = SeedObject(image.manifest, "application/json", image.created)
    for recipe in recipes(topology, dice):
        found[IMS, recipe.key] = SeedObject(recipe.data, "application/gzip", recipe.created)
    return found


def etag(data: bytes) -> str:
    """Without quotes, as IMS and BOS carry it."""
    return md5(data, usedforsecurity=False).hexdigest()


def s3_link(bucket: str, key: str, tag: str) -> dict[str, str]:
    return {"type": "s3", "path": f"s3://{bucket}/{key}", "etag": tag}


def _kinds(topology: Topology) -> Iterator[tuple[str, str]]:
    """(role, architecture) of the nodes, each once, in their order: as BSS asks for them."""
    seen: set[tuple[str, str]] = set()
    for part in topology.parts.values():
        if part.type != "Node":
            continue
        place = topology.places.get(part.xname)
        kind = (place.role if place else "", part.model.arch if part.model else "")
        if kind not in seen:
            seen.add(kind)
            yield kind


def _arches(topology: Topology) -> list[str]:
    return sorted({ARCHES.get(arch, "x86_64") for _, arch in _kinds(topology)})


def _stamp(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y%m%d%H%M%S")
