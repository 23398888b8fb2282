"""What runs in a container that has no program of its own: a shell, or one command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, MutableMapping

from csm_emulator.cluster.pods import Exec
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.containers.shell_terminal import Typing, serve, streams_of
from csm_emulator.services.kubernetes.pods.view import pod_address
from csm_emulator.services.kubernetes.seed_data.volumes import BINARIES
from csm_emulator.shell.budget import Budget
from csm_emulator.shell.builtins import date_text
from csm_emulator.shell.expansion import Variables
from csm_emulator.shell.files import Files, Text
from csm_emulator.shell.interpreter import SHELLS, Exit, Shell, Streams
from csm_emulator.shell.options import read_arguments
from csm_emulator.shell.process import MISUSED, Process, Program, UsageProblem
from csm_emulator.shell.standard_commands import STANDARD
from csm_emulator.shell.syntax import Simple, Step

NO_PROGRAM = 126
_NAMES = ("bin", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var")
FOLDERS = tuple(f"/{name}" for name in _NAMES)
_AS_ROOT = ("ansible", "inventory", "sshd", "buildenv-sidecar", "prepare", "teardown")
"""Containers of CFS and IMS; the services' own run as nobody."""
_RELEASE = 'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.18.6\nPRETTY_NAME="Alpine Linux v3.18"\n'

_USERS = "root:x:0:0:root:/root:/bin/ash\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"
_HOSTS = """# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
"""As the kubelet writes them; the pod itself follows."""


class ContainerShell:
    """``sh``, ``sh -c …``, or one command."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self, asked: Exec) -> int:
        shell = self._shell(asked)
        typing = Typing(asked)
        budget = Budget()
        streams = streams_of(asked, typing, budget)
        try:
            if asked.argv[0].rpartition("/")[2] not in SHELLS:
                return await self._one(shell, asked, streams, budget)
            invocation = read_arguments(asked.argv)
            if invocation.file is not None:
                return await shell.run(_step(asked.argv), streams, budget)
            shell.name, variables = asked.argv[0].rpartition("/")[2], shell.variables
            variables.name, variables.arguments = invocation.name, invocation.arguments
            variables.options = invocation.options
            if invocation.script is None:
                return await serve(shell, asked, typing)
            return await shell.run_text(invocation.script, streams, budget)
        except Exit as left:
            return left.code
        except UsageProblem as problem:
            await streams.err.write(f"{asked.argv[0].rpartition('/')[2]}: {problem}\n")
            return MISUSED

    async def _one(self, shell: Shell, asked: Exec, streams: Streams, budget: Budget) -> int:
        if asked.argv[0].rpartition("/")[2] not in shell.commands:
            await streams.err.write(
                "OCI runtime exec failed: exec failed: unable to start container process: exec: "
                f'"{asked.argv[0]}": executable file not found in $PATH: unknown\n'
            )
            return NO_PROGRAM
        return await shell.run(_step(asked.argv), streams, budget)

    def _shell(self, asked: Exec) -> Shell:
        address = pod_address(asked.pod, self._context.random)
        fixed: dict[str, Text] = {
            "/etc/hostname": f"{asked.pod.name}\n",
            "/etc/hosts": f"{_HOSTS}{address}\t{asked.pod.name}\n",
            "/etc/os-release": _RELEASE,
            "/etc/passwd": _USERS,
        }
        if asked.container == "cray-ipxe":
            fixed |= {f"/shared_tftp/{name}": "" for name in BINARIES}
        for volume in self._context.cluster.volumes:
            fixed |= volume(asked.pod, asked.container)
        files = Files(fixed, FOLDERS, _Written(self._context, asked))
        return Shell(Variables(_environment(asked)), files, {**STANDARD, **self._commands(asked)})

    def _commands(self, asked: Exec) -> dict[str, Program]:
        user, number = ("root", "0") if asked.container in _AS_ROOT else ("nobody", "65534")
        groups = " groups=0(root)" if user == "root" else ""
        whole = f"uid={number}({user}) gid={number}({user}){groups}"

        async def date(process: Process) -> int:
            text = date_text(self._context.clock.now(), process.argv[1:])
            await process.out.write(f"{text}\n")
            return 0

        return {
            "hostname": _printing({(): asked.pod.name, ("-s",): asked.pod.name}),
            "uname": _printing({(): "Linux", ("-s",): "Linux", ("-n",): asked.pod.name}),
            "whoami": _printing({(): user}),
            "id": _printing(
                {(): whole, ("-u",): number, ("-g",): number, ("-un",): user, ("-u", "-n"): user, ("-gn",): user}
            ),
            "date": date,
        }


def _printing(answers: Mapping[tuple[str, ...], str]) -> Program:
    """A command that knows its answer to these words, and refuses all others."""

    async def command(process: Process) -> int:
        words = tuple(process.argv[1:])
        if words not in answers:
            known = ", ".join(" ".join(one) for one in answers if one)
            raise UsageProblem(f"{' '.join(words)[:40]}: this shell's {process.name} takes {known or 'no operand'}")
        await process.out.write(f"{answers[words]}\n")
        return 0

    return command


def _step(argv: list[str]) -> tuple[Step, ...]:
    """One command, whose words mean what they say."""
    return (Step(";", (Simple((), tuple(map(shlex.quote, argv))),), False, ""),)


def _environment(asked: Exec) -> dict[str, str]:
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME": asked.pod.name,
        **({"TERM": "xterm"} if asked.tty else {}),
        "KUBERNETES_SERVICE_HOST": "10.16.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "HOME": "/root" if asked.container in _AS_ROOT else "/",
    }


class _Written(MutableMapping[str, str]):
    """The files that were written in the container; the cluster keeps them."""

    def __init__(self, context: Context, asked: Exec) -> None:
        self._cluster = context.cluster
        self._at = (asked.pod.namespace, asked.pod.name, asked.container)

    def __getitem__(self, path: str) -> str:
        text = self._cluster.read_file(*self._at, path)
        if text is None:
            raise KeyError(path)
        return text

    def __setitem__(self, path: str, text: str) -> None:
        self._cluster.write_file(*self._at, path, text)

    def __delitem__(self, path: str) -> None:
        self._cluster.remove_file(*self._at, path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cluster.paths(*self._at))

    def __len__(self) -> int:
        return len(self._cluster.paths(*self._at))
