"""Conversion of custom resources between versions, as with ``strategy: None``: the name of the version changes, and
fields that the version does not have are left out. Tenants are stored as v1alpha3, and served as v1alpha1 and v1alpha2
too.
"""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.kinds.schema import prepare


def convert(kind: Kind, value: Json) -> Json:
    """The stored object in the version of ``kind``."""
    if not kind.custom:
        return {"kind": kind.kind, "apiVersion": kind.api_version, **value}
    return {**prepare(value, kind.schema), "apiVersion": kind.api_version, "kind": kind.kind}
