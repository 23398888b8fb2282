"""The CronJobs of the first day: those that docs-csm lists, with their schedules."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import CRON_JOBS, Kind
from csm_emulator.services.kubernetes.pods.view import DEFAULT_IMAGE

DISCOVERY = "hms-discovery"
_PLAIN = (
    ("kube-system", "kube-etcdbackup", "*/10 * * * *", "etcdbackup", "1.32.5"),
    ("operators", "kube-etcd-defrag", "0 0 * * *", "etcd-defrag", "0.6.0"),
    ("operators", "kube-etcd-defrag-cray-hbtd-etcd", "0 */4 * * *", "etcd-defrag", "0.6.0"),
    ("operators", "kube-etcd-periodic-backup-cron", "0 * * * *", "etcd-backup", "0.6.0"),
    ("services", "cray-dhcp-kea-helper", "*/3 * * * *", "cray-dhcp-kea-helper", "0.11.5"),
    ("services", "cray-dns-unbound-manager", "*/3 * * * *", "cray-dns-unbound-manager", "0.8.6"),
    ("services", "sonar-sync", "*/1 * * * *", "sonar-sync", "1.1.4"),
    ("vault", "spire-intermediate", "0 0 * * 1", "spire-intermediate", "2.17.0"),
)
_BACKUPS = (
    ("services", "cray-sls", "10 23 * * *"),
    ("services", "cray-smd", "10 0 * * *"),
    ("services", "gitea-vcs", "10 1 * * *"),
    ("services", "keycloak", "10 2 * * *"),
    ("spire", "spire", "10 3 * * *"),
)


def cron_jobs() -> Iterator[tuple[Kind, Json]]:
    yield CRON_JOBS, _discovery()
    for namespace, name, schedule, image, tag in _PLAIN:
        yield CRON_JOBS, _cron_job(namespace, name, schedule, image, tag)
    for namespace, name, schedule in _BACKUPS:
        job_name = f"logical-backup-{name}-postgres"
        yield CRON_JOBS, _cron_job(namespace, job_name, schedule, "postgres-operator/logical-backup", "v1.8.2")


def _cron_job(namespace: str, name: str, schedule: str, image: str, tag: str) -> Json:
    labels = {"cronjob-name": name}
    container = {"name": image.rpartition("/")[2], "image": f"{DEFAULT_IMAGE}{image}:{tag}", "resources": {}}
    pod = {"containers": [{**container, "imagePullPolicy": "IfNotPresent"}], "restartPolicy": "Never"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {
            "schedule": schedule,
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"spec": {"backoffLimit": 0, "template": template}},
        },
    }


def _discovery() -> Json:
    """As in its Helm chart, plus the label on its Jobs by which docs-csm finds them."""
    cron_job = _cron_job("services", DISCOVERY, "*/3 * * * *", DISCOVERY, "1.20.0")
    job = cron_job["spec"]["jobTemplate"]
    labels = {"app": DISCOVERY, "cronjob-name": DISCOVERY}
    template = {**job["spec"]["template"], "metadata": {"labels": labels}}
    spec = {**job["spec"], "activeDeadlineSeconds": 300, "template": template}
    limits = {"suspend": False, "successfulJobsHistoryLimit": 10, "failedJobsHistoryLimit": 5}
    return {**cron_job, "spec": {**cron_job["spec"], **limits, "jobTemplate": {"spec": spec}}}
