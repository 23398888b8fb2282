"""The boot parameters of a machine in use, as BOS sets them: an entry for each node, an image for each kind of node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from csm_emulator.machine.machine import Machine
from csm_emulator.records import Json
from csm_emulator.seed_data.images import boot_image
from csm_emulator.services.bss.boot_parameters.records import NO_CLOUD_INIT
from csm_emulator.state.random import SeededRandom

_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
# As in HPE's own session templates; nodes mount the root file system over iSCSI.
_PARAMS = (
    "console=ttyS0,115200 bad_page=panic crashkernel=512M hugepagelist=2m-2g intel_iommu=off intel_pstate=disable "
    "iommu.passthrough=on numa_interleave_omit=headless oops=panic pageblock_order=14 rd.neednet=1 rd.retry=10 "
    "rd.shell systemd.unified_cgroup_hierarchy=1 ip=dhcp quiet spire_join_token=${{SPIRE_JOIN_TOKEN}} "
    "root=sbps-s3:s3://boot-images/{image}/rootfs:{etag}:sbps:v1:iqn.2023-06.csm.iscsi:_sbps-hsn._tcp.emulator.local "
    "nmd_data=url=s3://boot-images/{image}/rootfs,etag={etag} bos_session_id={session}"
)


@dataclass(frozen=True, slots=True)
class Seed:
    rows: Mapping[str, Json]
    images: Mapping[str, Json]


def image_key(kind: str, path: str) -> str:
    """The key of an image in BSS's store: the FNV-1a hash of its path."""
    digest = _FNV_OFFSET
    for byte in path.encode("utf-8", "surrogatepass"):
        digest = ((digest ^ byte) * _FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return f"/{kind}/{digest:016x}"


def seed(machine: Machine, random: SeededRandom) -> Seed:
    """Rows and images for the nodes of the machine; empty without nodes."""
    by_kind: dict[tuple[str, str], Json] = {}
    rows: dict[str, Json] = {}
    images: dict[str, Json] = {}
    for part in machine.parts("Node"):
        node_place = machine.place(part.xname)
        kind = (node_place.role if node_place else "", part.model.arch if part.model else "")
        if kind not in by_kind:
            by_kind[kind] = _row(kind, random, images)
        rows[part.xname] = by_kind[kind]
    return Seed(rows, images)


def _row(kind: tuple[str, str], random: SeededRandom, images: dict[str, Json]) -> Json:
    node_image = boot_image(random, *kind)
    image = node_image.id
    row: Json = {
        "params": _PARAMS.format(
            image=image, etag=node_image.artefacts[0].md5, session=random.uuid("bss.session", *kind)
        ),
        "cloud-init": NO_CLOUD_INIT,
        "token": random.uuid("bss.referral-token", *kind),
    }
    for name in ("kernel", "initrd"):
        path = f"s3://boot-images/{image}/{name}"
        row[name] = image_key(name, path)
        images[row[name]] = {"path": path, "params": ""}
    return row
