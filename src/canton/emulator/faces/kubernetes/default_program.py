"""What runs in a container that nobody has a better program for: a small shell."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from canton.emulator.cluster.pods import Exec
from canton.emulator.world import World

_SHELLS = ("sh", "bash", "ash", "/bin/sh", "/bin/bash")
_FOLDERS = "bin  dev  etc  home  lib  opt  proc  root  run  sbin  sys  tmp  usr  var"
_LONGEST_LINE = 4096
_NOT_FOUND, _NO_PROGRAM, _MISUSED = 127, 126, 2


class Shell:
    """``sh``, ``sh -c …``, or one command."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def run(self, asked: Exec) -> int:
        name, rest = asked.argv[0], asked.argv[1:]
        if name not in _SHELLS:
            return await self._one(asked, asked.argv, direct=True)
        if "-c" in rest or any(word.startswith("-") and word.endswith("c") for word in rest):
            place = next(n for n, word in enumerate(rest) if word.startswith("-") and word.endswith("c"))
            script = rest[place + 1] if place + 1 < len(rest) else ""
            return (await self._script(asked, script))[0]
        return await _Interactive(self, asked).run()

    async def _script(self, asked: Exec, script: str) -> tuple[int, bool]:
        """The code of its last command, and whether that was ``exit``."""
        code = 0
        for line in script.replace(";", "\n").splitlines():
            try:
                argv = shlex.split(line, comments=True)
            except ValueError:
                await self._err(asked, "sh: syntax error: unterminated quoted string")
                return _MISUSED, False
            if not argv:
                continue
            if argv[0] == "exit":
                return _code(argv[1:], code), True
            code = await self._one(asked, argv)
        return code, False

    async def line(self, asked: Exec, line: str) -> tuple[int, bool]:
        return await self._script(asked, line)

    async def _one(self, asked: Exec, argv: list[str], *, direct: bool = False) -> int:
        name = argv[0].rpartition("/")[2]
        told = self._told(asked, name, argv[1:])
        if told is not None:
            await self._out(asked, told)
            return 0
        if name == "cat":
            return await self._cat(asked, argv[1:])
        if name in ("true", "false", "sleep", ":"):
            return int(name == "false")
        if direct:
            await self._err(
                asked,
                f'OCI runtime exec failed: exec failed: unable to start container process: exec: "{argv[0]}": '
                "executable file not found in $PATH: unknown",
            )
            return _NO_PROGRAM
        await self._err(asked, f"sh: {argv[0]}: command not found")
        return _NOT_FOUND

    def _told(self, asked: Exec, name: str, args: list[str]) -> str | None:
        """What a command that always succeeds prints; None for another one."""
        if name == "echo":
            quiet = args[:1] == ["-n"]
            return " ".join(args[quiet:]) + ("" if quiet else "\n")
        if name == "hostname":
            return f"{asked.pod.name}\n"
        if name == "date":
            return datetime.fromtimestamp(self._world.clock.now(), UTC).strftime("%a %b %e %H:%M:%S UTC %Y\n")
        if name in ("env", "printenv"):
            return "".join(f"{key}={value}\n" for key, value in self._environment(asked).items())
        if name == "ls":
            return "" if args and not args[0].startswith("-") else f"{_FOLDERS}\n"
        plain = {"pwd": "/", "whoami": "nobody", "id": "uid=65534(nobody) gid=65534(nobody)", "uname": "Linux"}
        return f"{plain[name]}\n" if name in plain else None

    def _environment(self, asked: Exec) -> dict[str, str]:
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOSTNAME": asked.pod.name,
            **({"TERM": "xterm"} if asked.tty else {}),
            "KUBERNETES_SERVICE_HOST": "10.16.0.1",
            "KUBERNETES_SERVICE_PORT": "443",
            "HOME": "/",
        }

    async def _cat(self, asked: Exec, paths: list[str]) -> int:
        if not paths:
            while data := await asked.read():
                await asked.write(data)
            return 0
        code = 0
        for path in paths:
            found = self._file(asked, path)
            if found is None:
                await self._err(asked, f"cat: can't open '{path}': No such file or directory")
                code = 1
            else:
                await self._out(asked, found)
        return code

    def _file(self, asked: Exec, path: str) -> str | None:
        if path == "/etc/hostname":
            return f"{asked.pod.name}\n"
        return self._world.cluster.read(asked.pod.namespace, asked.pod.name, asked.container, path)

    async def _out(self, asked: Exec, text: str) -> None:
        await asked.write(_on_terminal(text, asked).encode())

    async def _err(self, asked: Exec, text: str) -> None:
        await asked.write_error(_on_terminal(f"{text}\n", asked).encode())


class _Interactive:
    """Lines from a terminal, which the shell echoes, or from a pipe."""

    def __init__(self, shell: Shell, asked: Exec) -> None:
        self._shell = shell
        self._asked = asked
        self._line = ""
        self._code = 0
        self._prompt = b"/ # " if asked.tty else b""

    async def run(self) -> int:
        await self._asked.write(self._prompt)
        while data := await self._asked.read():
            for key in data.decode("utf-8", "replace"):
                if await self._typed(key):
                    return self._code
        if self._line:
            await self._enter()
        return self._code

    async def _typed(self, key: str) -> bool:
        """Whether the shell is left."""
        tty = self._asked.tty
        if key in "\r\n":
            return await self._enter()
        if tty and key == "\x04" and not self._line:
            return True
        if tty and key == "\x03":
            self._line = ""
            await self._asked.write(b"^C\r\n" + self._prompt)
        elif tty and key in "\x7f\b":
            if self._line:
                self._line = self._line[:-1]
                await self._asked.write(b"\b \b")
        elif len(self._line) < _LONGEST_LINE:
            self._line += key
            if tty:
                await self._asked.write(key.encode())
        return False

    async def _enter(self) -> bool:
        if self._asked.tty:
            await self._asked.write(b"\r\n")
        line, self._line = self._line, ""
        self._code, left = await self._shell.line(self._asked, line)
        if not left:
            await self._asked.write(self._prompt)
        return left


def _on_terminal(text: str, asked: Exec) -> str:
    return text.replace("\n", "\r\n") if asked.tty else text


def _code(args: list[str], last: int) -> int:
    if not args:
        return last
    return int(args[0]) % 256 if args[0].lstrip("-").isdecimal() else _MISUSED
