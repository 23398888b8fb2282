"""Recipes, from which IMS builds images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from csm_emulator.seed_data import image_files
from csm_emulator.seed_data.buckets import IMS, etag, s3_link

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
        """The key in the bucket ``ims``."""
        return f"recipes/{self.id}/recipe.tar.gz"

    @property
    def link(self) -> dict[str, str]:
        return s3_link(IMS, self.key, etag(self.data))
