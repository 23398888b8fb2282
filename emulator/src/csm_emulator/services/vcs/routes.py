"""The VCS service and its routes."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.services.vcs.api.branches import BranchApi
from csm_emulator.services.vcs.api.contents import ContentsApi
from csm_emulator.services.vcs.api.objects import ObjectApi
from csm_emulator.services.vcs.api.repositories import RepositoryApi
from csm_emulator.services.vcs.auth.access import Access
from csm_emulator.services.vcs.auth.accounts import Accounts
from csm_emulator.services.vcs.auth.owners import Owners
from csm_emulator.services.vcs.git.commits import GitWriter
from csm_emulator.services.vcs.git.git import PACK_LIMIT, Git, GitError, LimitExceeded
from csm_emulator.services.vcs.git.objects import GitReader
from csm_emulator.services.vcs.git.smart_http import SmartHttp
from csm_emulator.services.vcs.repositories import Repositories
from csm_emulator.services.vcs.responses import ApiError, error_reply, gitea_reply
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route

VERSION = "1.17.2"
"""The Gitea version in CSM 1.6 and 1.7."""


def create_service(context: Context) -> EmulatedService:
    git = Git()
    repositories = Repositories(context, git)
    accounts = Accounts(context)
    owners = Owners(context, accounts, repositories)
    access = Access(accounts, repositories)
    reader = GitReader(git, repositories)
    writer = GitWriter(git, repositories)
    apis = (
        accounts,
        owners,
        RepositoryApi(context, repositories, access, owners, writer),
        BranchApi(context, repositories, access, reader, writer),
        ObjectApi(context, repositories, access, reader, writer),
        ContentsApi(context, repositories, access, reader, writer),
        SmartHttp(git, repositories, accounts, owners),
    )
    routes = [route.through(_with_error_replies) for api in apis for route in api.routes()]
    routes += [Route("GET", "/api/v1/version", _version), Route("GET", "/api/healthz", _healthy)]
    return EmulatedService(
        "vcs",
        [("/vcs", "")],
        routes,
        not_found=lambda _: text_reply("Not Found\n", 404),
        body_limit=PACK_LIMIT,
        open_paths=["/vcs"],
    )


def _with_error_replies(handler: Handler) -> Handler:
    def answer(call: Call) -> Reply:
        try:
            return handler(call)
        except ApiError as error:
            return error_reply(call, error)
        except LimitExceeded as error:
            return error_reply(call, ApiError(500, str(error)))
        except GitError:
            return error_reply(call, ApiError(500, ""))

    return answer


def _version(_: Call) -> Reply:
    return gitea_reply({"version": VERSION})


def _healthy(_: Call) -> Reply:
    return gitea_reply({"status": "pass", "description": "Gitea: Git with a cup of tea"})
