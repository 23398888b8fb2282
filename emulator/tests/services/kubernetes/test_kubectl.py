"""The real kubectl against a running emulator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from csm_emulator.process import Emulator, emulate

KUBECTL = shutil.which("kubectl") or ""
pytestmark = pytest.mark.skipif(
    not KUBECTL,
    reason="NO KUBECTL: the Kubernetes API is not tested with its real client (apt install kubernetes-client)",
)
LIMIT = 60
OPERATOR = "app.kubernetes.io/name=cray-console-operator"
HOOK = """
apiVersion: tapms.hpe.com/v1alpha3
kind: GlobalTenantHook
metadata: {name: h1, namespace: tenants}
spec: {name: h1, url: "http://hook", eventtypes: [CREATE]}
"""
TENANT = """
apiVersion: tapms.hpe.com/v1alpha3
kind: Tenant
metadata: {name: vcluster-red, namespace: tenants}
spec:
  childnamespaces: [user]
  tenantname: vcluster-red
  tenantresources:
  - {type: compute, hsmgrouplabel: red, enforceexclusivehsmgroups: true, xnames: [x1000c0s1b0n0]}
"""


class Kubectl:
    def __init__(self, machine: Emulator, home: Path, program: str = KUBECTL) -> None:
        self.machine = machine
        self._home = home
        self._program = program
        self._environment = {**os.environ, "KUBECONFIG": machine.kubeconfig, "HOME": str(home)}

    def with_cron_jobs(self) -> Kubectl:
        """The first kubectl on the PATH that knows CronJobs of batch/v1: that of 1.21 or newer."""
        folders = os.get_exec_path()
        programs = [path for folder in folders if (path := shutil.which("kubectl", path=folder))]
        for program in programs:
            newer = Kubectl(self.machine, self._home, program)
            version = json.loads(newer.say("version", "--client", "-o", "json"))["clientVersion"]
            if (int(version["major"]), int(version["minor"].rstrip("+"))) >= (1, 21):
                return newer
        pytest.skip(
            "LEFT OUT: CronJobs under `kubectl create job` and `describe` (no kubectl of 1.21 or newer is here)"
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self._program, *words], env=self._environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )

    def ask(self, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, *words],
            env=self._environment,
            input=typed,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def say(self, *words: str, typed: str = "") -> str:
        completed = self.ask(*words, typed=typed)
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    def pod(self, label: str) -> str:
        return self.say("get", "pods", "-n", "services", "-l", label, "-o", "name").split()[0].removeprefix("pod/")

    def on_terminal(self, command: str, *keys: str) -> str:
        """The output on a terminal while these keys are pressed, one group a second."""
        script = [shutil.which("script") or "script", "-qec", f"{self._program} {command}", "/dev/null"]
        with subprocess.Popen(
            script, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            for group in keys:
                time.sleep(1.5)
                process.stdin.write(group)
                process.stdin.flush()
            output, _ = process.communicate(timeout=LIMIT)
        return f"{output}<{process.returncode}>"


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with emulate("tiny") as machine:
        yield Kubectl(machine, tmp_path_factory.mktemp("home"))


def test_what_there_is(kubectl: Kubectl) -> None:
    resources = kubectl.say("api-resources")
    assert "tenants" in resources
    assert "subns" in resources
    assert "ncn-m001   Ready    control-plane" in kubectl.say("get", "nodes")
    table = kubectl.say("get", "pods", "-n", "services", "-o", "wide")
    assert table.splitlines()[0].split()[:7] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    assert "cray-console-node-0 " in table
    whole = kubectl.say("get", "all", "-n", "services")
    assert "deployment.apps/cray-bos " in whole
    assert "statefulset.apps/cray-console-node " in whole


def test_one_pod(kubectl: Kubectl) -> None:
    name = kubectl.pod("app.kubernetes.io/name=cray-ims")
    assert "nodeName: ncn-m001" in kubectl.say("get", "pod", name, "-n", "services", "-o", "yaml")
    description = kubectl.say("describe", "pod", name, "-n", "services")
    assert "Controlled By:  ReplicaSet/cray-ims-" in description
    assert "Running" in description
    assert kubectl.say("logs", name, "-n", "services") == f"cray-ims started on {name}\n"
    refused = kubectl.ask("logs", "nope", "-n", "services")
    assert 'pods "nope" not found' in refused.stderr


def test_commands_in_a_container(kubectl: Kubectl) -> None:
    name = kubectl.pod("app.kubernetes.io/name=cray-ims")
    at = ("exec", "-n", "services", name)
    assert kubectl.say(*at, "--", "hostname") == f"{name}\n"
    failed = kubectl.ask(*at, "--", "sh", "-c", "echo hi; nonsense")
    assert failed.stdout == "hi\n"
    assert "sh: nonsense: command not found\n" in failed.stderr
    assert failed.returncode == 127
    many = "x" * 99 + "\n"
    assert kubectl.say("exec", "-i", "-n", "services", name, "--", "cat", typed=many * 2000) == many * 2000
    assert kubectl.say(*at, "--", "sh", "-c", "echo a | grep a; ls / | tail -1") == "a\nvar\n"
    assert kubectl.ask(*at, "--", "sh", "-c", "false || exit 7").returncode == 7
    assert kubectl.ask(*at, "--", "sh", "-c", "while true; do :; done").returncode == 137


def test_a_terminal(kubectl: Kubectl) -> None:
    name = kubectl.pod("app.kubernetes.io/name=cray-ims")
    output = kubectl.on_terminal(f"exec -it -n services {name} -- sh", "echo hello\r", "exit 3\r")
    assert "/ # echo hello\n" in output.replace("\r", "")
    assert "\nhello\n" in output.replace("\r", "")
    assert output.endswith("<3>")


def test_a_console_as_administrators_get_it(kubectl: Kubectl) -> None:
    operator = kubectl.pod(OPERATOR)
    at = ("exec", "-n", "services", "-c", "cray-console-operator", operator, "--")
    location = json.loads(kubectl.say(*at, "sh", "-c", "/app/get-node x1000c0s0b0n0"))
    assert location["podname"].startswith("cray-console-node-")


def test_a_log_is_followed_to_its_end(kubectl: Kubectl) -> None:
    name = kubectl.pod("app.kubernetes.io/name=cray-sts")
    with kubectl.start("logs", "-f", "-n", "services", name) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == f"cray-sts started on {name}\n"
        kubectl.say("delete", "pod", "-n", "services", name)
        assert following.wait(LIMIT) == 0


def test_a_custom_resource_is_applied_and_checked(kubectl: Kubectl) -> None:
    apply = ("apply", "-f", "-")
    assert kubectl.say(*apply, typed=HOOK) == "globaltenanthook.tapms.hpe.com/h1 created\n"
    assert kubectl.say(*apply, typed=HOOK) == "globaltenanthook.tapms.hpe.com/h1 unchanged\n"
    changed = HOOK.replace("http://hook", "http://other")
    assert kubectl.say(*apply, typed=changed) == "globaltenanthook.tapms.hpe.com/h1 configured\n"
    hook = json.loads(kubectl.say("get", "globaltenanthooks", "h1", "-n", "tenants", "-o", "json"))
    assert (hook["spec"]["url"], hook["metadata"]["generation"]) == ("http://other", 2)
    refused = kubectl.ask(*apply, typed=HOOK.replace("url:", "ulr:"))
    assert 'unknown field "ulr"' in refused.stderr
    assert "deleted" in kubectl.say("delete", "-f", "-", typed=HOOK)


def test_a_tenant_comes_and_goes(kubectl: Kubectl) -> None:
    assert kubectl.say("apply", "-f", "-", typed=TENANT) == "tenant.tapms.hpe.com/vcluster-red created\n"
    assert kubectl.say("get", "tenants", "-n", "tenants").split()[:3] == ["NAME", "AGE", "vcluster-red"]
    bad = TENANT.replace("x1000c0s1b0n0", "x9999c0s0b0n0").replace("vcluster-red", "vcluster-bad")
    refused = kubectl.ask("apply", "-f", "-", typed=bad)
    assert 'admission webhook "vtenant.kb.io" denied the request' in refused.stderr
    kubectl.say("delete", "tenant", "vcluster-red", "-n", "tenants", "--wait=false")


def test_secrets_and_patches(kubectl: Kubectl) -> None:
    secret = json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert kubectl.say("apply", "-n", "user", "-f", "-", typed=secret) == "secret/s created\n"
    kubectl.say("patch", "secret", "s", "-n", "user", "-p", '{"data":{"c":"ZA=="}}')
    assert json.loads(kubectl.say("get", "secret", "s", "-n", "user", "-o", "json"))["data"] == {
        "a": "Yg==",
        "c": "ZA==",
    }
    assert "s      Opaque   2" in kubectl.say("get", "secrets", "-n", "user")
    kubectl.say("label", "secret", "s", "-n", "user", "x=y")
    assert kubectl.say("get", "secrets", "-n", "user", "-l", "x=y", "-o", "name") == "secret/s\n"
    kubectl.say("delete", "secret", "s", "-n", "user")
    assert "csm:" in kubectl.say("get", "configmap", "cray-product-catalog", "-n", "services", "-o", "yaml")


def test_what_is_made_on_the_command_line(kubectl: Kubectl) -> None:
    """Newer versions of kubectl send these objects in protobuf."""
    assert kubectl.say("create", "namespace", "made") == "namespace/made created\n"
    at = ("-n", "made")
    kubectl.say("create", "secret", "generic", "s", "--from-literal=a=b", *at)
    kubectl.say("create", "configmap", "c", "--from-literal=x=y", *at)
    kubectl.say("create", "serviceaccount", "sa", *at)
    assert json.loads(kubectl.say("get", "secret", "s", "-o", "json", *at))["data"] == {"a": "Yg=="}
    assert json.loads(kubectl.say("get", "configmap", "c", "-o", "json", *at))["data"] == {"x": "y"}
    assert kubectl.say("get", "serviceaccount", "sa", "-o", "name", *at) == "serviceaccount/sa\n"


def test_scaling_is_watched(kubectl: Kubectl) -> None:
    label = "app.kubernetes.io/name=cray-scsd"
    with kubectl.start("get", "pods", "-n", "services", "-l", label, "-w") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("NAME")
        watching.stdout.readline()
        assert "scaled" in kubectl.say("scale", "deployment/cray-scsd", "-n", "services", "--replicas=2")
        assert "ContainerCreating" in watching.stdout.readline()
        assert "1/1     Running" in watching.stdout.readline()
        watching.terminate()
    assert "successfully rolled out" in kubectl.say("rollout", "status", "deployment/cray-scsd", "-n", "services")
    assert kubectl.say("get", "deployment", "cray-scsd", "-n", "services").split()[6] == "2/2"


def test_a_rollout_is_followed_and_undone(kubectl: Kubectl) -> None:
    at = ("-n", "services")
    progress = kubectl.say("rollout", "status", "statefulset/cray-console-node", *at)
    assert "roll out complete: 2 new pods" in progress
    what = ("deployment/cray-vnid", *at)
    kubectl.say("rollout", "restart", *what)
    assert "successfully rolled out" in kubectl.say("rollout", "status", *what)
    assert kubectl.say("rollout", "undo", *what) == "deployment.apps/cray-vnid rolled back\n"
    assert "successfully rolled out" in kubectl.say("rollout", "status", *what)
    history = kubectl.say("rollout", "history", *what).splitlines()[2:]
    assert [line.split() for line in history if line] == [["2", "<none>"], ["3", "<none>"]]


def test_what_one_may(kubectl: Kubectl) -> None:
    assert kubectl.say("auth", "can-i", "get", "pods", "-n", "services") == "yes\n"


def test_a_node_is_drained(kubectl: Kubectl) -> None:
    label = "app.kubernetes.io/name=cray-sls"
    pod_before = kubectl.pod(label)
    kubectl.say("drain", "ncn-m001", "--ignore-daemonsets", f"--pod-selector={label}")
    assert "Ready,SchedulingDisabled" in kubectl.say("get", "nodes")
    assert f'pods "{pod_before}" not found' in kubectl.ask("get", "pod", pod_before, "-n", "services").stderr
    kubectl.say("uncordon", "ncn-m001")


def test_cron_jobs_are_suspended_and_resumed(kubectl: Kubectl) -> None:
    """The command lines of docs-csm."""
    at = ("-n", "services")
    head = kubectl.say("get", "cronjobs", *at, "hms-discovery").splitlines()[0]
    assert head.split() == "NAME SCHEDULE TIMEZONE SUSPEND ACTIVE LAST SCHEDULE AGE".split()  # noqa: SIM905
    kubectl.say(*at, "patch", "cronjobs", "hms-discovery", "-p", '{"spec" : {"suspend" : true }}')
    assert kubectl.say("get", "cj", *at, "hms-discovery", "-o", "jsonpath={.spec.suspend}") == "true"
    kubectl.say(*at, "patch", "cronjobs", "hms-discovery", "-p", '{"spec" : {"suspend" : false }}')
    assert kubectl.say("get", "cj", *at, "hms-discovery", "-o", "jsonpath={.spec.suspend}") == "false"
    assert "kube-etcdbackup" in kubectl.say("get", "cronjobs.batch", "-A")


def test_a_cron_job_is_run_by_hand(kubectl: Kubectl) -> None:
    """A command line of docs-csm. kubectl 1.20 looks for CronJobs in batch/v1beta1, which Kubernetes 1.25 removed."""
    newer = kubectl.with_cron_jobs()
    at = ("-n", "kube-system")
    created = newer.say("create", "job", "tmp-backup", "--from=cronjob/kube-etcdbackup", *at)
    assert created == "job.batch/tmp-backup created\n"
    owner = "jsonpath={.metadata.ownerReferences[0].name}"
    assert newer.say("get", "job", "tmp-backup", *at, "-o", owner) == "kube-etcdbackup"
    assert "Schedule:" in newer.say("describe", "cronjob", "hms-discovery", "-n", "services")
    by_label = ("get", "jobs", *at, "-l", "cronjob-name=kube-etcdbackup", "-o", "name")
    assert "job.batch/tmp-backup\n" in newer.say(*by_label)
    newer.say("delete", "job", "tmp-backup", *at)
