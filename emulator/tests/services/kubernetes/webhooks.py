"""Possible answers of TAPMS's webhooks."""

from __future__ import annotations

import json
from typing import Any

from csm_emulator.transport.call import Reply


def answering(**response: Any) -> Reply:
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "u", **response}}
    return Reply(200, json.dumps(review).encode())


def allowing(**more: Any) -> Reply:
    return answering(allowed=True, **more)
