"""Defaults that the API server fills in, for workloads: the fields that clients read."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import (
    CRON_JOBS,
    DEPLOYMENTS,
    JOBS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Kind,
)

ROLLING = "RollingUpdate"
KEPT_REVISIONS = 10
_RETAIN = {"whenDeleted": "Retain", "whenScaled": "Retain"}
_OF_DEPLOYMENTS: Json = {"replicas": 1, "revisionHistoryLimit": KEPT_REVISIONS, "progressDeadlineSeconds": 600}
_OF_STATEFUL_SETS: Json = {
    "replicas": 1,
    "revisionHistoryLimit": KEPT_REVISIONS,
    "podManagementPolicy": "OrderedReady",
    "persistentVolumeClaimRetentionPolicy": _RETAIN,
}


_OF_JOBS: Json = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed"}
_OF_CRON_JOBS: Json = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
}


def with_defaults(kind: Kind, value: Json) -> Json:
    """The validated object with defaults for its missing fields."""
    spec = value.get("spec")
    if kind == DEPLOYMENTS:
        strategy = _strategy(spec.get("strategy"), {"maxUnavailable": "25%", "maxSurge": "25%"})
        return {**value, "spec": {**_with_missing(_OF_DEPLOYMENTS, spec), "strategy": strategy}}
    if kind == STATEFUL_SETS:
        strategy = _strategy(spec.get("updateStrategy"), {"partition": 0})
        return {**value, "spec": {**_with_missing(_OF_STATEFUL_SETS, spec), "updateStrategy": strategy}}
    if kind == CRON_JOBS:
        return {**value, "spec": _with_missing(_OF_CRON_JOBS, spec)}
    if kind == JOBS:
        return {**value, "spec": _with_missing(_OF_JOBS, spec)}
    if kind == REPLICA_SETS:
        return {**value, "spec": _with_missing({"replicas": 1}, spec)}
    return value


def _with_missing(defaults: Json, fields: Json) -> Json:
    return {
        **(fields or {}),
        **{name: default for name, default in defaults.items() if (fields or {}).get(name) is None},
    }


def _strategy(strategy: Json, rolling: Json) -> Json:
    filled_strategy = {**(strategy or {}), "type": (strategy or {}).get("type") or ROLLING}
    if filled_strategy["type"] == ROLLING:
        filled_strategy["rollingUpdate"] = _with_missing(rolling, filled_strategy.get("rollingUpdate"))
    return filled_strategy
