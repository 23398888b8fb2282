"""All of VCS, on its paths."""

from __future__ import annotations

from canton.emulator.faces.vcs.access import Access
from canton.emulator.faces.vcs.accounts import Accounts
from canton.emulator.faces.vcs.answers import Refusal, refused, told
from canton.emulator.faces.vcs.branch_api import BranchApi
from canton.emulator.faces.vcs.contents_api import ContentsApi
from canton.emulator.faces.vcs.git import PACK_LIMIT, Git, GitFailed, TooMuch
from canton.emulator.faces.vcs.object_api import ObjectApi
from canton.emulator.faces.vcs.owners import Owners
from canton.emulator.faces.vcs.reading import Reading
from canton.emulator.faces.vcs.repositories import Repositories
from canton.emulator.faces.vcs.repository_api import RepositoryApi
from canton.emulator.faces.vcs.smart_http import SmartHttp
from canton.emulator.faces.vcs.writing import Writing
from canton.emulator.wire.call import Call, Reply, text_reply
from canton.emulator.wire.routes import Face, Handler, Route
from canton.emulator.world import World

VERSION = "1.17.2"
"""What CSM 1.6 and 1.7 ship."""


def open_face(world: World) -> Face:
    git = Git()
    repositories = Repositories(world, git)
    accounts = Accounts(world)
    owners = Owners(world, accounts, repositories)
    access = Access(accounts, repositories)
    reading = Reading(git, repositories)
    writing = Writing(git, repositories)
    rooms = (
        accounts,
        owners,
        RepositoryApi(world, repositories, access, owners, writing),
        BranchApi(world, repositories, access, reading, writing),
        ObjectApi(world, repositories, access, reading, writing),
        ContentsApi(world, repositories, access, reading, writing),
        SmartHttp(git, repositories, accounts, owners),
    )
    routes = [route.through(_answering) for room in rooms for route in room.routes()]
    routes += [Route("GET", "/api/v1/version", _version), Route("GET", "/api/healthz", _healthy)]
    return Face(
        "vcs",
        [("/vcs", "")],
        routes,
        not_found=lambda _: text_reply("Not Found\n", 404),
        body_limit=PACK_LIMIT,
        open_paths=["/vcs"],
    )


def _answering(handler: Handler) -> Handler:
    def answer(call: Call) -> Reply:
        try:
            return handler(call)
        except Refusal as refusal:
            return refused(call, refusal)
        except TooMuch as error:
            return refused(call, Refusal(500, str(error)))
        except GitFailed:
            return refused(call, Refusal(500, ""))

    return answer


def _version(_: Call) -> Reply:
    return told({"version": VERSION})


def _healthy(_: Call) -> Reply:
    return told({"status": "pass", "description": "Gitea: Git with a cup of tea"})
