"""The files that a user sees in an image during customisation: the folders of a root file system and a few files."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.seed_data.images import RELEASES
from csm_emulator.shell.files import EMPTY_FOLDER_MARK

ROOT = "/mnt/image/image-root"
_FOLDERS = (
    *("bin", "dev", "etc/cray", "etc/zypp", "home", "lib", "lib64", "mnt", "opt/cray", "proc", "root", "run"),
    *("sbin", "srv", "sys", "tmp", "usr/bin", "usr/lib", "usr/share", "var/log"),
)
_RELEASE = """NAME="SLES"
VERSION="15-SP5"
VERSION_ID="15.5"
PRETTY_NAME="SUSE Linux Enterprise Server 15 SP5"
ID="sles"
ID_LIKE="suse"
"""


def image_root(arch: str) -> Mapping[str, str]:
    """File contents by path; kernel and initrd are empty files."""
    release = RELEASES[arch]
    files = {f"{ROOT}/{folder}/{EMPTY_FOLDER_MARK}": "" for folder in _FOLDERS}
    return {
        **files,
        f"{ROOT}/etc/os-release": _RELEASE,
        f"{ROOT}/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
        f"{ROOT}/etc/resolv.conf": "",
        f"{ROOT}/boot/{'Image' if arch == 'aarch64' else 'vmlinuz'}-{release}": "",
        f"{ROOT}/boot/initrd-{release}": "",
        "/mnt/image/ready": "",
    }
