"""The defaults of a workload, and the revisions that a Deployment remembers."""

from __future__ import annotations

from typing import Any

import pytest

from services.kubernetes.api import JSON_PATCH, MERGE, STRATEGIC, Api

APPS = "/apis/apps/v1/namespaces"
IMS = f"{APPS}/services/deployments/cray-ims"
REVISION = "deployment.kubernetes.io/revision"
CAUSE = "kubernetes.io/change-cause"
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}


def make(api: Api, plural: str, **spec: Any) -> Any:
    selector = {"matchLabels": {"app": "a"}}
    return api.create(f"{APPS}/user/{plural}", "mine", spec={"selector": selector, "template": TEMPLATE, **spec})[
        "spec"
    ]


def restart(api: Api, moment: str) -> None:
    """The patch of ``kubectl rollout restart``."""
    marks = {"annotations": {"kubectl.kubernetes.io/restartedAt": moment}}
    api.patch(IMS, {"spec": {"template": {"metadata": marks}}}, STRATEGIC)
    api.step(30)


def undo(api: Api, revision: str) -> None:
    """The patch of ``kubectl rollout undo``, with all the fields that Go writes."""
    replica_set = next(
        candidate for candidate in sets(api) if candidate["metadata"]["annotations"][REVISION] == revision
    )
    template = replica_set["spec"]["template"]
    labels = {name: value for name, value in template["metadata"]["labels"].items() if name != "pod-template-hash"}
    meta = {**template["metadata"], "labels": labels, "creationTimestamp": None}
    spec = {**template["spec"], "securityContext": {}, "volumes": []}
    marks = api.get(IMS)["metadata"]["annotations"]
    patch = [
        {"op": "replace", "path": "/spec/template", "value": {"metadata": meta, "spec": spec}},
        {"op": "replace", "path": "/metadata/annotations", "value": marks},
    ]
    assert api.patch(IMS, patch, JSON_PATCH).status == 200
    api.step(30)


def sets(api: Api) -> list[Any]:
    replica_sets = api.get(f"{APPS}/services/replicasets?labelSelector=app.kubernetes.io/name%3Dcray-ims")["items"]
    return sorted(replica_sets, key=lambda replica_set: int(replica_set["metadata"]["annotations"][REVISION]))


def revisions(api: Api) -> list[str]:
    return [replica_set["metadata"]["annotations"][REVISION] for replica_set in sets(api)]


def revision(api: Api) -> str:
    return str(api.get(IMS)["metadata"]["annotations"][REVISION])


def test_a_deployment_is_filled_in(api: Api) -> None:
    filled = {"replicas": 1, "strategy": ROLLING, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10}
    seeded = api.get(IMS)["spec"]
    assert {name: seeded[name] for name in filled} == filled
    deployment = make(api, "deployments")
    assert {name: deployment[name] for name in filled} == filled


def test_a_stateful_set_is_filled_in(api: Api) -> None:
    filled = {
        "replicas": 1,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "podManagementPolicy": "OrderedReady",
        "revisionHistoryLimit": 10,
    }
    seeded = api.get(f"{APPS}/services/statefulsets/cray-keycloak")["spec"]
    assert {name: seeded[name] for name in filled} == filled
    stateful_set = make(api, "statefulsets")
    assert {name: stateful_set[name] for name in filled} == filled


def test_fields_of_the_client_stay(api: Api) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    deployment = make(api, "deployments", strategy=strategy, replicas=0, revisionHistoryLimit=0)
    assert deployment["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": "25%"}
    assert (deployment["replicas"], deployment["revisionHistoryLimit"]) == (0, 0)
    patch = {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
    patched = api.patch(f"{APPS}/user/deployments/mine", patch, MERGE).json()
    assert patched["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize("spec", [{"strategy": "x"}, {"strategy": {"rollingUpdate": 1}}, {"revisionHistoryLimit": "x"}])
def test_a_strategy_that_is_none(api: Api, spec: Any) -> None:
    assert api.patch(IMS, {"spec": spec}).status == 400


def test_a_deployment_goes_back(api: Api) -> None:
    assert (revision(api), revisions(api)) == ("1", ["1"])
    (first,) = sets(api)
    restart(api, "one")
    assert (revision(api), revisions(api)) == ("2", ["1", "2"])
    undo(api, "1")
    assert (revision(api), revisions(api)) == ("3", ["2", "3"])
    back = sets(api)[-1]
    assert back["metadata"]["uid"] == first["metadata"]["uid"]
    assert back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"
    assert [replica_set["status"]["replicas"] for replica_set in sets(api)] == [0, 1]
    undo(api, "2")
    undo(api, "3")
    assert sets(api)[-1]["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1,3"


def test_scaling_is_no_revision(api: Api) -> None:
    api.patch(f"{IMS}/scale", {"spec": {"replicas": 0}})
    api.step(30)
    assert (revision(api), revisions(api)) == ("1", ["1"])
    restart(api, "without a pod")
    assert (revision(api), revisions(api)) == ("2", ["1", "2"])


def test_why_it_was_changed(api: Api) -> None:
    restart(api, "one")
    api.patch(IMS, {"metadata": {"annotations": {CAUSE: "a reason"}}})
    api.step(5)
    assert [replica_set["metadata"]["annotations"].get(CAUSE) for replica_set in sets(api)] == [None, "a reason"]


def test_old_revisions_are_forgotten(api: Api) -> None:
    api.patch(IMS, {"spec": {"revisionHistoryLimit": 2}})
    for number in range(4):
        restart(api, str(number))
    assert revisions(api) == ["3", "4", "5"]
