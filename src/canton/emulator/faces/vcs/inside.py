"""What the parts of Gitea's API that look into a repository have in common."""

from __future__ import annotations

from canton.emulator.faces.vcs.access import Access
from canton.emulator.faces.vcs.reading import Reading
from canton.emulator.faces.vcs.repositories import Repositories
from canton.emulator.faces.vcs.writing import Writing
from canton.emulator.world import World

REPO = "/api/v1/repos/{owner}/{repo}"


class InsideApi:
    def __init__(
        self, world: World, repositories: Repositories, access: Access, reading: Reading, writing: Writing
    ) -> None:
        self._world = world
        self._repositories = repositories
        self._access = access
        self._reading = reading
        self._writing = writing
