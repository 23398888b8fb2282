"""Git over HTTP: the system's git speaks, a process for each request."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import zlib
from collections.abc import AsyncGenerator, Mapping
from functools import partial

from csm_emulator.services.vcs.auth.accounts import Accounts
from csm_emulator.services.vcs.auth.owners import Owners
from csm_emulator.services.vcs.git.git import PACK_LIMIT, Git, GitFailed
from csm_emulator.services.vcs.repositories import Repositories, Repository
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import Route

PIECE = 1 << 16
UPLOAD, RECEIVE = "git-upload-pack", "git-receive-pack"
_NO_CACHE = (
    ("Expires", "Fri, 01 Jan 1980 00:00:00 GMT"),
    ("Pragma", "no-cache"),
    ("Cache-Control", "no-cache, max-age=0, must-revalidate"),
)
_ASK = Reply(401, b"Unauthorized\n", "text/plain; charset=utf-8", (("WWW-Authenticate", 'Basic realm="."'),))
_GZIP = 31
"""What tells zlib that a header of gzip stands first."""
_VERSIONS = frozenset({"version=1", "version=2"})


class SmartHttp:
    def __init__(self, git: Git, repositories: Repositories, accounts: Accounts, owners: Owners) -> None:
        self._git = git
        self._repositories = repositories
        self._accounts = accounts
        self._owners = owners

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/{owner}/{repo}/info/refs", self.refs),
            Route("POST", "/{owner}/{repo}/git-upload-pack", partial(self.serve, UPLOAD)),
            Route("POST", "/{owner}/{repo}/git-receive-pack", partial(self.serve, RECEIVE)),
        ]

    def refs(self, call: Call) -> Reply:
        service = call.first("service")
        if service not in (UPLOAD, RECEIVE):
            # The dumb protocol, which no git has needed since 1.6.6.
            return text_reply("Please upgrade your git client.\n", 403)
        found = self._find(call, service)
        if isinstance(found, Reply):
            return found
        line = f"# service={service}\n"
        head = f"{len(line) + 4:04x}{line}0000".encode()
        return self._speaking(call, found, service, "advertisement", head, b"", "--advertise-refs")

    def serve(self, service: str, call: Call) -> Reply:
        if call.headers.get("content-type") != f"application/x-{service}-request":
            return Reply(401)
        found = self._find(call, service)
        if isinstance(found, Reply):
            return found
        body = _unpacked(call)
        return body if isinstance(body, Reply) else self._speaking(call, found, service, "result", b"", body)

    def _find(self, call: Call, service: str) -> Repository | Reply:
        """As Gitea goes about it: who is not known learns nothing of what is there."""
        owner, name = call.args["owner"], call.args["repo"].removesuffix(".git")
        repository = self._repositories.find(owner, name)
        if not self._owners.known(owner):
            return text_reply("Not Found\n", 404)
        public = repository is not None and not repository.private and service == UPLOAD
        if not public and self._accounts.caller(call) is None:
            return _ASK
        if repository is not None:
            return repository
        if service == UPLOAD:
            return text_reply("Repository not found\n", 404)
        kind = "organizations" if self._owners.is_organization(owner) else "users"
        return text_reply(f"Push to create is not enabled for {kind}.", 403)

    def _speaking(
        self, call: Call, repository: Repository, service: str, what: str, head: bytes, body: bytes, *options: str
    ) -> Reply:
        try:
            path = self._repositories.path(repository)
        except GitFailed:
            return text_reply("Internal Server Error\n", 500)
        wanted = call.headers.get("git-protocol", "")
        more = {"GIT_PROTOCOL": wanted} if wanted in _VERSIONS else {}
        if service == RECEIVE:
            more |= {"VCS_DEFAULT": repository.default_branch, "VCS_PROTECTED": " ".join(_closed(repository))}
        command = [service.removeprefix("git-"), "--stateless-rpc", *options, str(path)]

        async def pieces() -> AsyncGenerator[bytes, None]:
            if head:
                yield head
            try:
                async with contextlib.aclosing(self._run(command, more, body)) as said:
                    async for piece in said:
                        yield piece
            finally:
                if service == RECEIVE and not options:
                    with contextlib.suppress(GitFailed):
                        self._repositories.touched(repository)

        return Reply(200, media=f"application/x-{service}-{what}", headers=_NO_CACHE, stream=pieces)

    async def _run(self, command: list[str], more: Mapping[str, str], body: bytes) -> AsyncGenerator[bytes, None]:
        process = await asyncio.create_subprocess_exec(
            "git",
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self._git.folder,
            env=self._git.environment(more, hooks=True),
            start_new_session=True,
        )
        feeding = asyncio.create_task(_feed(process, body))
        ended = False
        try:
            while piece := await process.stdout.read(PIECE):  # type: ignore[union-attr]  # it is a pipe
                yield piece
            ended = True
        finally:
            feeding.cancel()
            if not ended:
                # The caller went. Git has children of its own, which end with it.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _feed(process: asyncio.subprocess.Process, body: bytes) -> None:
    """Git may have heard enough before the end."""
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(body)
        await process.stdin.drain()
    process.stdin.close()


def _closed(repository: Repository) -> list[str]:
    """The rules by which nobody may push; none of them can hold a space."""
    return [branch for branch, rule in repository.protected.items() if not rule["enable_push"]]


def _unpacked(call: Call) -> bytes | Reply:
    if call.headers.get("content-encoding", "") != "gzip":
        return call.body
    reading = zlib.decompressobj(_GZIP)
    try:
        body = reading.decompress(call.body, PACK_LIMIT)
    except zlib.error:
        return Reply(500)
    if reading.unconsumed_tail:
        return text_reply("Payload Too Large", 413)
    return body
