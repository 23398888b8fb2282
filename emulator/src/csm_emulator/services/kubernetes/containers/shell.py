"""The default program of a container: a shell, or one command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, MutableMapping

from csm_emulator.cluster.pods import Exec
from csm_emulator.context import Context
from csm_emulator.services.kubernetes.containers.shell_terminal import TerminalInput, serve, streams_of
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
"""Containers of CFS and IMS; those of the services run as the user nobody."""
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
"""The lines that the kubelet writes; the line of the pod itself follows them."""


class ContainerShell:
    """``sh``, ``sh -c …``, or one command."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def run(self, execution: Exec) -> int:
        shell = self._shell(execution)
        terminal_input = TerminalInput(execution)
        budget = Budget()
        streams = streams_of(execution, terminal_input, budget)
        try:
            if execution.argv[0].rpartition("/")[2] not in SHELLS:
                return await self._run_command(shell, execution, streams, budget)
            invocation = read_arguments(execution.argv)
            if invocation.file is not None:
                return await shell.run(_step(execution.argv), streams, budget)
            shell.name, variables = execution.argv[0].rpartition("/")[2], shell.variables
            variables.name, variables.arguments = invocation.name, invocation.arguments
            variables.options = invocation.options
            if invocation.script is None:
                return await serve(shell, execution, terminal_input)
            return await shell.run_text(invocation.script, streams, budget)
        except Exit as error:
            return error.code
        except UsageProblem as problem:
            await streams.err.write(f"{execution.argv[0].rpartition('/')[2]}: {problem}\n")
            return MISUSED

    async def _run_command(self, shell: Shell, execution: Exec, streams: Streams, budget: Budget) -> int:
        if execution.argv[0].rpartition("/")[2] not in shell.commands:
            await streams.err.write(
                "OCI runtime exec failed: exec failed: unable to start container process: exec: "
                f'"{execution.argv[0]}": executable file not found in $PATH: unknown\n'
            )
            return NO_PROGRAM
        return await shell.run(_step(execution.argv), streams, budget)

    def _shell(self, execution: Exec) -> Shell:
        address = pod_address(execution.pod, self._context.random)
        fixed: dict[str, Text] = {
            "/etc/hostname": f"{execution.pod.name}\n",
            "/etc/hosts": f"{_HOSTS}{address}\t{execution.pod.name}\n",
            "/etc/os-release": _RELEASE,
            "/etc/passwd": _USERS,
        }
        if execution.container == "cray-ipxe":
            fixed |= {f"/shared_tftp/{name}": "" for name in BINARIES}
        for volume in self._context.cluster.volumes:
            fixed |= volume(execution.pod, execution.container)
        files = Files(fixed, FOLDERS, _ContainerFiles(self._context, execution))
        return Shell(Variables(_environment(execution)), files, {**STANDARD, **self._commands(execution)})

    def _commands(self, execution: Exec) -> dict[str, Program]:
        user, number = ("root", "0") if execution.container in _AS_ROOT else ("nobody", "65534")
        groups = " groups=0(root)" if user == "root" else ""
        identity = f"uid={number}({user}) gid={number}({user}){groups}"

        async def date(process: Process) -> int:
            text = date_text(self._context.clock.now(), process.argv[1:])
            await process.out.write(f"{text}\n")
            return 0

        return {
            "hostname": _fixed_outputs({(): execution.pod.name, ("-s",): execution.pod.name}),
            "uname": _fixed_outputs({(): "Linux", ("-s",): "Linux", ("-n",): execution.pod.name}),
            "whoami": _fixed_outputs({(): user}),
            "id": _fixed_outputs(
                {(): identity, ("-u",): number, ("-g",): number, ("-un",): user, ("-u", "-n"): user, ("-gn",): user}
            ),
            "date": date,
        }


def _fixed_outputs(answers: Mapping[tuple[str, ...], str]) -> Program:
    """A command that prints a fixed text for each known list of operands, and refuses other operands."""

    async def command(process: Process) -> int:
        operands = tuple(process.argv[1:])
        if operands not in answers:
            accepted = ", ".join(" ".join(arguments) for arguments in answers if arguments)
            raise UsageProblem(
                f"{' '.join(operands)[:40]}: this shell's {process.name} takes {accepted or 'no operand'}"
            )
        await process.out.write(f"{answers[operands]}\n")
        return 0

    return command


def _step(argv: list[str]) -> tuple[Step, ...]:
    """One command; its words are quoted, so that nothing in them is expanded."""
    return (Step(";", (Simple((), tuple(map(shlex.quote, argv))),), False, ""),)


def _environment(execution: Exec) -> dict[str, str]:
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME": execution.pod.name,
        **({"TERM": "xterm"} if execution.tty else {}),
        "KUBERNETES_SERVICE_HOST": "10.16.0.1",
        "KUBERNETES_SERVICE_PORT": "443",
        "HOME": "/root" if execution.container in _AS_ROOT else "/",
    }


class _ContainerFiles(MutableMapping[str, str]):
    """The files that were written in the container; the cluster stores them."""

    def __init__(self, context: Context, execution: Exec) -> None:
        self._cluster = context.cluster
        self._at = (execution.pod.namespace, execution.pod.name, execution.container)

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
