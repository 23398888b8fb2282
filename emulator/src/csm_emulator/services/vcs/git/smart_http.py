"""Git over HTTP: each request starts a process of the system's git."""

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
from csm_emulator.services.vcs.git.git import PACK_LIMIT, Git, GitError
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
_CREDENTIALS_REQUIRED = Reply(
    401, b"Unauthorized\n", "text/plain; charset=utf-8", (("WWW-Authenticate", 'Basic realm="."'),)
)
_GZIP = 31
"""The ``wbits`` of zlib for data with a gzip header."""
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
            # The dumb protocol; git has not needed it since 1.6.6.
            return text_reply("Please upgrade your git client.\n", 403)
        repository = self._find(call, service)
        if isinstance(repository, Reply):
            return repository
        line = f"# service={service}\n"
        head = f"{len(line) + 4:04x}{line}0000".encode()
        return self._stream_reply(call, repository, service, "advertisement", head, b"", "--advertise-refs")

    def serve(self, service: str, call: Call) -> Reply:
        if call.headers.get("content-type") != f"application/x-{service}-request":
            return Reply(401)
        repository = self._find(call, service)
        if isinstance(repository, Reply):
            return repository
        body = _decompress_body(call)
        return body if isinstance(body, Reply) else self._stream_reply(call, repository, service, "result", b"", body)

    def _find(self, call: Call, service: str) -> Repository | Reply:
        """The repository, or an error reply; as in Gitea, anonymous callers do not learn which private ones exist."""
        owner, name = call.args["owner"], call.args["repo"].removesuffix(".git")
        repository = self._repositories.find(owner, name)
        if not self._owners.exists(owner):
            return text_reply("Not Found\n", 404)
        public = repository is not None and not repository.private and service == UPLOAD
        if not public and self._accounts.caller(call) is None:
            return _CREDENTIALS_REQUIRED
        if repository is not None:
            return repository
        if service == UPLOAD:
            return text_reply("Repository not found\n", 404)
        kind = "organizations" if self._owners.is_organization(owner) else "users"
        return text_reply(f"Push to create is not enabled for {kind}.", 403)

    def _stream_reply(
        self,
        call: Call,
        repository: Repository,
        service: str,
        message_kind: str,
        head: bytes,
        body: bytes,
        *options: str,
    ) -> Reply:
        try:
            path = self._repositories.path(repository)
        except GitError:
            return text_reply("Internal Server Error\n", 500)
        protocol = call.headers.get("git-protocol", "")
        variables = {"GIT_PROTOCOL": protocol} if protocol in _VERSIONS else {}
        if service == RECEIVE:
            variables |= {
                "VCS_DEFAULT": repository.default_branch,
                "VCS_PROTECTED": " ".join(_rules_without_push(repository)),
            }
        command = [service.removeprefix("git-"), "--stateless-rpc", *options, str(path)]

        async def pieces() -> AsyncGenerator[bytes, None]:
            if head:
                yield head
            try:
                async with contextlib.aclosing(self._run(command, variables, body)) as output:
                    async for piece in output:
                        yield piece
            finally:
                if service == RECEIVE and not options:
                    with contextlib.suppress(GitError):
                        self._repositories.refresh_refs(repository)

        return Reply(200, media=f"application/x-{service}-{message_kind}", headers=_NO_CACHE, stream=pieces)

    async def _run(self, command: list[str], variables: Mapping[str, str], body: bytes) -> AsyncGenerator[bytes, None]:
        process = await asyncio.create_subprocess_exec(
            "git",
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=self._git.folder,
            env=self._git.environment(variables, hooks=True),
            start_new_session=True,
        )
        feeder = asyncio.create_task(_feed(process, body))
        finished = False
        try:
            while piece := await process.stdout.read(PIECE):  # type: ignore[union-attr]  # it is a pipe
                yield piece
            finished = True
        finally:
            feeder.cancel()
            if not finished:
                # The client disconnected. Git has child processes; they end with it.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _feed(process: asyncio.subprocess.Process, body: bytes) -> None:
    """Write the body to git, which may stop reading before its end."""
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(body)
        await process.stdin.drain()
    process.stdin.close()


def _rules_without_push(repository: Repository) -> list[str]:
    """The patterns of branches without push permission; patterns cannot contain spaces."""
    return [branch for branch, rule in repository.protected.items() if not rule["enable_push"]]


def _decompress_body(call: Call) -> bytes | Reply:
    if call.headers.get("content-encoding", "") != "gzip":
        return call.body
    decompressor = zlib.decompressobj(_GZIP)
    try:
        body = decompressor.decompress(call.body, PACK_LIMIT)
    except zlib.error:
        return Reply(500)
    if decompressor.unconsumed_tail:
        return text_reply("Payload Too Large", 413)
    return body
