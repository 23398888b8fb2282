"""Gitea's API of refs, tags, commits, trees and blobs."""

from __future__ import annotations

import re
from base64 import b64encode
from urllib.parse import quote

from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.records import Json
from csm_emulator.services.vcs.api.records import api, meta, shown_commit
from csm_emulator.services.vcs.api.repository_access import REPO, InsideApi
from csm_emulator.services.vcs.git.git import GitFailed, TooMuch
from csm_emulator.services.vcs.git.objects import is_plain
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import TAGS, Repository
from csm_emulator.services.vcs.responses import Refusal, form, not_found, page, page_of, paging, told
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

ENTRIES = 1_000
"""DEFAULT_GIT_TREES_PER_PAGE."""
_FULL = re.compile("[0-9a-f]{40}")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_CREATE = struct("structs.CreateTagOption", {"tag_name": STRING, "message": STRING, "target": STRING})


class ObjectApi(InsideApi):
    def routes(self) -> list[Route]:
        return [
            Route("GET", f"{REPO}/git/refs", self.refs),
            Route("GET", f"{REPO}/git/refs/{{ref...}}", self.refs),
            Route("GET", f"{REPO}/tags", self.tags),
            Route("POST", f"{REPO}/tags", self.create_tag),
            Route("GET", f"{REPO}/tags/{{tag...}}", self.tag),
            Route("DELETE", f"{REPO}/tags/{{tag...}}", self.delete_tag),
            Route("GET", f"{REPO}/commits", self.commits),
            Route("GET", f"{REPO}/git/commits/{{sha...}}", self.commit),
            Route("GET", f"{REPO}/git/trees/{{sha}}", self.tree),
            Route("GET", f"{REPO}/git/blobs/{{sha}}", self.blob),
        ]

    def refs(self, call: Call) -> Reply:
        """Those that begin so: always a list, be it of one."""
        repository = self._access.to_read_filled(call)
        wanted = f"refs/{call.args.get('ref', '')}"
        found = {name: at for name, at in self._repositories.refs(repository).items() if name.startswith(wanted)}
        if not found:
            raise not_found()
        kinds = self._reading.kinds(repository, dict.fromkeys(found.values()))
        place = f"{api(call.base, repository)}/git"
        return told(
            [
                {
                    "ref": name,
                    "url": f"{place}/{quote(name)}",
                    "object": {"type": kinds[at][0], "sha": at, "url": f"{place}/{kinds[at][0]}s/{at}"},
                }
                for name, at in found.items()
            ]
        )

    def tags(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        refs = self._repositories.refs(repository)
        names = [name.removeprefix(TAGS) for name in refs if name.startswith(TAGS)]
        shown, headers = page(call, list(names))
        return told([self._shown_tag(call, repository, name) for name in shown], headers=headers)

    def tag(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        return told(self._shown_tag(call, repository, call.args["tag"]))

    def create_tag(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        said = form(call, _CREATE, "tag_name")
        name, target = said["tag_name"], said["target"] or repository.default_branch
        if not is_branch_name(name):
            raise Refusal(422, "[TagName]: GitRefName")
        at = self._reading.resolve(repository, target)
        if at is None:
            raise Refusal(404, f"target not found: object does not exist [id: {target}, rel_path: ]")
        if TAGS + name in self._repositories.refs(repository):
            raise Refusal(409, f"tag already exists [name: {name}]")
        try:
            if said["message"]:
                at = self._writing.tag(repository, at, name, said["message"], int(self._context.clock.now()))
            self._writing.set_ref(repository, TAGS + name, at)
        except GitFailed as error:
            raise Refusal(500, str(error)) from error
        return told(self._shown_tag(call, repository, name), 201)

    def delete_tag(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        name = call.args["tag"]
        if TAGS + name not in self._repositories.refs(repository):
            raise not_found()
        self._writing.drop_ref(repository, TAGS + name)
        return Reply(204)

    def _shown_tag(self, call: Call, repository: Repository, name: str) -> Json:
        at = self._repositories.refs(repository).get(TAGS + name)
        sha = self._reading.peeled(repository, at) if at else None
        if at is None or sha is None:
            raise Refusal(404, name)
        commit = self._reading.commit(repository, sha)
        message = commit.message
        if sha != at:
            message = self._reading.objects(repository, [at])[at][1].partition(b"\n\n")[2].decode(errors="replace")
        place = f"{call.base}/{repository.full_name}/archive/{quote(name)}"
        return {
            "name": name,
            "message": message.rstrip("\n"),
            "id": at,
            "commit": meta(call.base, repository, sha, commit.committer),
            "zipball_url": f"{place}.zip",
            "tarball_url": f"{place}.tar.gz",
        }

    def commits(self, call: Call) -> Reply:
        repository = self._access.to_read_filled(call)
        wanted, path = call.first("sha") or repository.default_branch, call.first("path").strip("/")
        sha = self._reading.resolve(repository, wanted)
        if sha is None or (path and not is_plain(path)):
            raise not_found()
        first, size = page_of(call)
        found, total = self._reading.log(repository, sha, path, first, size)
        if path and not total:
            raise not_found()
        done = zip(found, self._reading.differences(repository, found), strict=True)
        shown = [shown_commit(call.base, repository, commit, did) for commit, did in done]
        return told(shown, headers=paging(call, total))

    def commit(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        wanted = call.args["sha"]
        if not (is_branch_name(wanted) or _FULL.fullmatch(wanted)):
            raise Refusal(422, f"no valid ref or sha: {wanted}")
        sha = self._reading.resolve(repository, wanted)
        if sha is None:
            raise Refusal(404, wanted)
        commit = self._reading.commit(repository, sha)
        (did,) = self._reading.differences(repository, [commit])
        return told(shown_commit(call.base, repository, commit, did))

    def tree(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        wanted = call.args["sha"]
        sha = self._reading.resolve(repository, wanted) or (wanted if _FULL.fullmatch(wanted) else "-")
        try:
            listing = self._reading.listing(repository, sha, recursive=call.first("recursive") in _TRUE)
        except TooMuch:
            raise
        except GitFailed as error:
            raise Refusal(400, f"sha not found [{wanted}]") from error
        number, size = _page(call)
        shown = listing.part((number - 1) * size, number * size)
        place = f"{api(call.base, repository)}/git"
        body = {
            "sha": sha,
            "url": f"{place}/trees/{sha}",
            "tree": [
                {
                    "path": entry.path,
                    "mode": entry.mode,
                    "type": entry.kind,
                    "size": entry.size,
                    "sha": entry.sha,
                    "url": "" if entry.kind == "commit" else f"{place}/{entry.kind}s/{entry.sha}",
                }
                for entry in shown
            ],
            "truncated": number * size < len(listing) or (bool(shown) and not listing.whole),
            "page": number,
            "total_count": len(listing),
        }
        return told(body, headers=(("X-Total-Count", str(len(listing))),))

    def blob(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        sha = call.args["sha"]
        content = self._reading.blob(repository, sha) if _FULL.fullmatch(sha) else None
        if content is None:
            raise Refusal(400, f"object does not exist [id: {sha}, rel_path: ]")
        return told(
            {
                "content": b64encode(content).decode(),
                "encoding": "base64",
                "url": f"{api(call.base, repository)}/git/blobs/{sha}",
                "sha": sha,
                "size": len(content),
            }
        )


def _page(call: Call) -> tuple[int, int]:
    number, size = (
        int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else 0
        for text in (call.first("page"), call.first("per_page"))
    )
    return max(number, 1), size if 0 < size <= ENTRIES else ENTRIES
