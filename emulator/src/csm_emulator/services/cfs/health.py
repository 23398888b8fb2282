"""Version and health endpoints of CFS."""

from __future__ import annotations

from csm_emulator.dialects.connexion import json_reply
from csm_emulator.transport.call import Call, Reply


def version(_: Call) -> Reply:
    """The version of cfs-api that this emulation follows."""
    return json_reply({"major": "1", "minor": "31", "patch": "1"})


def health(_: Call) -> Reply:
    return json_reply({"db_status": "ok", "kafka_status": "ok"})
