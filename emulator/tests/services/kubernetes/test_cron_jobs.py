"""CronJobs: schedules in virtual time, suspended and resumed as in docs-csm."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from csm_emulator.services.kubernetes.controllers.cron_schedule import ScheduleError, read_schedule
from service_client import reopen
from services.kubernetes.api import STRATEGIC, Api

CRON_JOBS = "/apis/batch/v1/namespaces/services/cronjobs"
JOBS = "/apis/batch/v1/namespaces/services/jobs"
DISCOVERY = f"{CRON_JOBS}/hms-discovery"
USER_CRON_JOBS = "/apis/batch/v1/namespaces/user/cronjobs"
TEMPLATE = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}}


def runs(api: Api, name: str = "hms-discovery") -> list[Any]:
    jobs = api.get(JOBS)["items"]
    return [job for job in jobs if any(one["name"] == name for one in job["metadata"].get("ownerReferences", ()))]


def suspend(api: Api, value: bool) -> None:
    """kubectl -n services patch cronjobs hms-discovery -p '{"spec" : {"suspend" : true }}'."""
    assert api.patch(DISCOVERY, {"spec": {"suspend": value}}, STRATEGIC).status == 200


def row(api: Api, name: str) -> dict[str, Any]:
    columns, rows = api.rows(f"{CRON_JOBS}?fieldSelector=metadata.name%3D{name}")
    return dict(zip(columns, rows[0], strict=True))


def test_the_well_known_ones_are_there(api: Api) -> None:
    cron_jobs = api.get("/apis/batch/v1/cronjobs")["items"]
    schedules = {(one["metadata"]["namespace"], one["metadata"]["name"]): one["spec"]["schedule"] for one in cron_jobs}
    assert schedules["services", "hms-discovery"] == "*/3 * * * *"
    assert schedules["kube-system", "kube-etcdbackup"] == "*/10 * * * *"
    assert ("services", "cray-dns-unbound-manager") in schedules
    assert ("services", "sonar-sync") in schedules
    assert ("services", "logical-backup-gitea-vcs-postgres") in schedules
    resource = next(one for one in api.get("/apis/batch/v1")["resources"] if one["name"] == "cronjobs")
    assert (resource["kind"], resource["shortNames"], resource["categories"]) == ("CronJob", ["cj"], ["all"])


def test_columns_as_kubectl_prints_them(api: Api) -> None:
    api.step(400)
    cells = row(api, "hms-discovery")
    assert list(cells)[:7] == ["Name", "Schedule", "Timezone", "Suspend", "Active", "Last Schedule", "Age"]
    assert (cells["Schedule"], cells["Timezone"], cells["Suspend"]) == ("*/3 * * * *", "<none>", "False")
    assert cells["Last Schedule"] in ("40s", "100s")


def test_a_run_is_a_job_with_a_pod_that_ends(api: Api) -> None:
    api.step(180 - api.site.clock.now() % 180 + 1)
    (job,) = [job for job in runs(api) if job["status"].get("active")]
    minute = int(api.site.clock.now() // 180) * 3
    assert job["metadata"]["name"] == f"hms-discovery-{minute}"
    assert job["metadata"]["name"] in api.names(f"{JOBS}?labelSelector=cronjob-name%3Dhms-discovery")
    assert row(api, "hms-discovery")["Active"] == 1
    pods = api.get(
        f"/api/v1/namespaces/services/pods?labelSelector=cronjob-name%3Dhms-discovery,job-name%3D{job['metadata']['name']}"
    )
    assert len(pods["items"]) == 1
    api.step(40)
    finished_job = api.get(f"{JOBS}/hms-discovery-{minute}")
    assert finished_job["status"]["conditions"][0]["type"] == "Complete"
    assert finished_job["status"]["succeeded"] == 1
    name = pods["items"][0]["metadata"]["name"]
    assert "hms-discovery done" in api.ask("GET", f"/api/v1/namespaces/services/pods/{name}/log").body.decode()
    assert row(api, "hms-discovery")["Active"] == 0
    assert "lastSuccessfulTime" in api.get(DISCOVERY)["status"]


def test_suspended_it_does_not_run_and_resumed_it_does(api: Api) -> None:
    suspend(api, True)
    assert row(api, "hms-discovery")["Suspend"] == "True"
    api.step(60)
    names_before = [job["metadata"]["name"] for job in runs(api)]
    api.step(3600)
    assert [job["metadata"]["name"] for job in runs(api)] == names_before
    suspend(api, False)
    minute = int(api.site.clock.now() // 180) * 3
    (next_run,) = [job for job in runs(api) if job["metadata"]["name"] not in names_before]
    assert next_run["metadata"]["name"] == f"hms-discovery-{minute}", "the last that was missed runs at once"
    created = datetime.fromisoformat(next_run["metadata"]["creationTimestamp"]).timestamp()
    assert created == pytest.approx(api.site.clock.now(), abs=1)
    api.step(200)
    assert len({name["metadata"]["name"] for name in runs(api)} - set(names_before)) == 2


def test_what_was_missed_before_its_deadline_is_not_made_up_for(api: Api) -> None:
    assert api.patch(DISCOVERY, {"spec": {"startingDeadlineSeconds": 10}}, STRATEGIC).status == 200
    suspend(api, True)
    api.step(3600 - api.site.clock.now() % 180 + 20)
    count_before = len(runs(api))
    suspend(api, False)
    assert len(runs(api)) == count_before


def test_the_history_is_bounded_and_a_month_costs_nothing(api: Api) -> None:
    api.get(CRON_JOBS)
    began = time.process_time()
    api.step(30 * 86_400.0)
    stepped = time.process_time() - began
    began = time.process_time()
    assert len(runs(api)) <= 11
    assert len(runs(api, "sonar-sync")) <= 4
    assert time.process_time() - began < 2.0
    assert stepped < 120
    for _ in range(30):
        api.step(180)
        assert len(runs(api)) <= 11


def test_a_client_s_own_and_its_end(api: Api) -> None:
    api.create(USER_CRON_JOBS, "mine", spec={"schedule": "* * * * *", "jobTemplate": TEMPLATE})
    spec = api.get(f"{USER_CRON_JOBS}/mine")["spec"]
    assert (spec["suspend"], spec["concurrencyPolicy"], spec["successfulJobsHistoryLimit"]) == (False, "Allow", 3)
    api.step(130)
    jobs = "/apis/batch/v1/namespaces/user/jobs"
    assert len(api.names(jobs)) == 2
    assert api.ask("DELETE", f"{USER_CRON_JOBS}/mine").status == 200
    assert api.names(jobs) == []


@pytest.mark.parametrize(
    ("policy", "stays", "begins"), [("Allow", True, True), ("Forbid", True, False), ("Replace", False, True)]
)
def test_a_run_while_another_goes_on(api: Api, policy: str, stays: bool, begins: bool) -> None:
    spec = {"schedule": "* * * * *", "concurrencyPolicy": policy, "jobTemplate": TEMPLATE}
    cron_job = api.create(USER_CRON_JOBS, "mine", spec=spec)
    api.step(119 - api.site.clock.now() % 60)
    jobs = "/apis/batch/v1/namespaces/user/jobs"
    jobs_before = set(api.names(jobs))
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "mine", "uid": cron_job["metadata"]["uid"]}
    api.create(jobs, "by-hand", metadata={"ownerReferences": [owner]}, spec=TEMPLATE["spec"])
    api.step(1.5)
    new_jobs = set(api.names(jobs)) - jobs_before
    assert ("by-hand" in new_jobs, bool(new_jobs - {"by-hand"})) == (stays, begins)


@pytest.mark.parametrize("schedule", ["", "x", "* * * *", "61 * * * *", "*/0 * * * *", "5-2 * * * *", "* * * * fri-x"])
def test_a_schedule_that_is_none_is_refused(api: Api, schedule: str) -> None:
    body = {"metadata": {"name": "x"}, "spec": {"schedule": schedule, "jobTemplate": TEMPLATE}}
    assert "spec.schedule: Invalid value" in api.message("POST", USER_CRON_JOBS, body)
    assert api.ask("POST", USER_CRON_JOBS, {"metadata": {"name": "x"}, "spec": {"schedule": "* * * * *"}}).status == 422


def test_runs_survive_a_restart(api: Api) -> None:
    api.step(180 - api.site.clock.now() % 180 + 1)
    names = [job["metadata"]["name"] for job in runs(api)]
    reopened_api = Api(reopen(api.site))
    with reopened_api.runner:
        assert [job["metadata"]["name"] for job in runs(reopened_api)] == names
        reopened_api.step(60)
        assert all(job["status"].get("succeeded") for job in runs(reopened_api))
    reopened_api.site.state_file.close()


def test_a_watch_shows_the_next_run(api: Api) -> None:
    version = api.get(JOBS)["metadata"]["resourceVersion"]
    events = api.events(f"{JOBS}?watch=true&resourceVersion={version}", lambda: api.step(200))
    assert any(
        one["object"]["metadata"]["name"].startswith("hms-discovery-") for one in events if one["type"] == "ADDED"
    )


def test_a_job_that_a_client_makes_from_one(api: Api) -> None:
    """The object that ``kubectl create job NAME --from=cronjob/hms-discovery`` sends."""
    cron_job = api.get(DISCOVERY)
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "hms-discovery", "uid": cron_job["metadata"]["uid"]}
    meta = {"annotations": {"cronjob.kubernetes.io/instantiate": "manual"}, "ownerReferences": [owner]}
    job = api.create(JOBS, "by-hand", metadata=meta, spec=cron_job["spec"]["jobTemplate"]["spec"])
    assert job["metadata"]["annotations"] == meta["annotations"]
    assert job["status"]["active"] == 1
    api.step(60)
    assert api.get(f"{JOBS}/by-hand")["status"]["succeeded"] == 1
    assert api.ask("PATCH", f"{JOBS}/by-hand", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC).status == 200
    assert api.get(f"{JOBS}/by-hand")["metadata"]["labels"]["a"] == "b"
    assert api.ask("DELETE", f"{JOBS}/by-hand").status == 200
    assert "by-hand" not in api.names(JOBS)


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("*/20 * * * *", ["02 23:20", "02 23:40", "03 00:00"]),
        ("10 1,3 * * *", ["02 01:10", "02 03:10"]),
        ("0 0 * * 1", ["01 00:00"]),
        ("0 12 2 * mon", ["01 12:00", "02 12:00"]),
        ("@daily", ["02 00:00", "03 00:00"]),
        ("30 4 31 2 *", []),
    ],
)
def test_schedules(text: str, moments: list[str]) -> None:
    """The last runs before Wednesday, 3 June 2026, 00:05, and not before Monday."""
    until = datetime(2026, 6, 3, 0, 5, tzinfo=UTC).timestamp()
    begin = datetime(2026, 5, 31, 23, 59, tzinfo=UTC).timestamp()
    latest_moments = read_schedule(text).latest(begin, until, 3 if "20" in text else 2)
    assert [datetime.fromtimestamp(one, UTC).strftime("%d %H:%M") for one in latest_moments] == moments


def test_words_that_are_no_numbers() -> None:
    with pytest.raises(ScheduleError, match="expected exactly 5 fields, found 1"):
        read_schedule("x")
