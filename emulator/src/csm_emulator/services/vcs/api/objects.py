"""Gitea's API for refs, tags, commits, trees and blobs."""

from __future__ import annotations

import re
from base64 import b64encode
from urllib.parse import quote

from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.records import Json
from csm_emulator.services.vcs.api.records import api_url, commit_document, commit_reference
from csm_emulator.services.vcs.api.repository_content import REPO, RepositoryContentApi
from csm_emulator.services.vcs.git.git import GitError, LimitExceeded
from csm_emulator.services.vcs.git.objects import is_plain
from csm_emulator.services.vcs.git.ref_names import is_branch_name
from csm_emulator.services.vcs.repositories import TAGS, Repository
from csm_emulator.services.vcs.responses import ApiError, gitea_reply, not_found, page, page_of, paging, read_body
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

LARGEST_TREE_PAGE = 1_000
"""DEFAULT_GIT_TREES_PER_PAGE."""
_FULL_SHA = re.compile("[0-9a-f]{40}")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_CREATE = struct("structs.CreateTagOption", {"tag_name": STRING, "message": STRING, "target": STRING})


class ObjectApi(RepositoryContentApi):
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
        """The refs that begin with the path: always a list, even of one."""
        repository = self._access.to_read_filled(call)
        prefix = f"refs/{call.args.get('ref', '')}"
        matches = {name: sha for name, sha in self._repositories.refs(repository).items() if name.startswith(prefix)}
        if not matches:
            raise not_found()
        kinds = self._reader.kinds(repository, dict.fromkeys(matches.values()))
        place = f"{api_url(call.base, repository)}/git"
        return gitea_reply(
            [
                {
                    "ref": name,
                    "url": f"{place}/{quote(name)}",
                    "object": {"type": kinds[sha][0], "sha": sha, "url": f"{place}/{kinds[sha][0]}s/{sha}"},
                }
                for name, sha in matches.items()
            ]
        )

    def tags(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        refs = self._repositories.refs(repository)
        names = [name.removeprefix(TAGS) for name in refs if name.startswith(TAGS)]
        page_names, headers = page(call, list(names))
        return gitea_reply([self._tag_document(call, repository, name) for name in page_names], headers=headers)

    def tag(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        return gitea_reply(self._tag_document(call, repository, call.args["tag"]))

    def create_tag(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        options = read_body(call, _CREATE, "tag_name")
        name, target = options["tag_name"], options["target"] or repository.default_branch
        if not is_branch_name(name):
            raise ApiError(422, "[TagName]: GitRefName")
        sha = self._reader.resolve(repository, target)
        if sha is None:
            raise ApiError(404, f"target not found: object does not exist [id: {target}, rel_path: ]")
        if TAGS + name in self._repositories.refs(repository):
            raise ApiError(409, f"tag already exists [name: {name}]")
        try:
            if options["message"]:
                sha = self._writer.tag(repository, sha, name, options["message"], int(self._context.clock.now()))
            self._writer.set_ref(repository, TAGS + name, sha)
        except GitError as error:
            raise ApiError(500, str(error)) from error
        return gitea_reply(self._tag_document(call, repository, name), 201)

    def delete_tag(self, call: Call) -> Reply:
        repository = self._access.to_write(call)
        name = call.args["tag"]
        if TAGS + name not in self._repositories.refs(repository):
            raise not_found()
        self._writer.drop_ref(repository, TAGS + name)
        return Reply(204)

    def _tag_document(self, call: Call, repository: Repository, name: str) -> Json:
        tag_sha = self._repositories.refs(repository).get(TAGS + name)
        sha = self._reader.commit_of(repository, tag_sha) if tag_sha else None
        if tag_sha is None or sha is None:
            raise ApiError(404, name)
        commit = self._reader.commit(repository, sha)
        message = commit.message
        if sha != tag_sha:
            message = (
                self._reader.objects(repository, [tag_sha])[tag_sha][1].partition(b"\n\n")[2].decode(errors="replace")
            )
        place = f"{call.base}/{repository.full_name}/archive/{quote(name)}"
        return {
            "name": name,
            "message": message.rstrip("\n"),
            "id": tag_sha,
            "commit": commit_reference(call.base, repository, sha, commit.committer),
            "zipball_url": f"{place}.zip",
            "tarball_url": f"{place}.tar.gz",
        }

    def commits(self, call: Call) -> Reply:
        repository = self._access.to_read_filled(call)
        start, path = call.first("sha") or repository.default_branch, call.first("path").strip("/")
        sha = self._reader.resolve(repository, start)
        if sha is None or (path and not is_plain(path)):
            raise not_found()
        first, size = page_of(call)
        commits, total = self._reader.log(repository, sha, path, first, size)
        if path and not total:
            raise not_found()
        pairs = zip(commits, self._reader.differences(repository, commits), strict=True)
        documents = [commit_document(call.base, repository, commit, difference) for commit, difference in pairs]
        return gitea_reply(documents, headers=paging(call, total))

    def commit(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        name = call.args["sha"]
        if not (is_branch_name(name) or _FULL_SHA.fullmatch(name)):
            raise ApiError(422, f"no valid ref or sha: {name}")
        sha = self._reader.resolve(repository, name)
        if sha is None:
            raise ApiError(404, name)
        commit = self._reader.commit(repository, sha)
        (difference,) = self._reader.differences(repository, [commit])
        return gitea_reply(commit_document(call.base, repository, commit, difference))

    def tree(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        name = call.args["sha"]
        sha = self._reader.resolve(repository, name) or (name if _FULL_SHA.fullmatch(name) else "-")
        try:
            listing = self._reader.listing(repository, sha, recursive=call.first("recursive") in _TRUE)
        except LimitExceeded:
            raise
        except GitError as error:
            raise ApiError(400, f"sha not found [{name}]") from error
        number, size = _page(call)
        entries = listing.part((number - 1) * size, number * size)
        place = f"{api_url(call.base, repository)}/git"
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
                for entry in entries
            ],
            "truncated": number * size < len(listing) or (bool(entries) and not listing.complete),
            "page": number,
            "total_count": len(listing),
        }
        return gitea_reply(body, headers=(("X-Total-Count", str(len(listing))),))

    def blob(self, call: Call) -> Reply:
        repository = self._access.to_read(call)
        sha = call.args["sha"]
        content = self._reader.blob(repository, sha) if _FULL_SHA.fullmatch(sha) else None
        if content is None:
            raise ApiError(400, f"object does not exist [id: {sha}, rel_path: ]")
        return gitea_reply(
            {
                "content": b64encode(content).decode(),
                "encoding": "base64",
                "url": f"{api_url(call.base, repository)}/git/blobs/{sha}",
                "sha": sha,
                "size": len(content),
            }
        )


def _page(call: Call) -> tuple[int, int]:
    number, size = (
        int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else 0
        for text in (call.first("page"), call.first("per_page"))
    )
    return max(number, 1), size if 0 < size <= LARGEST_TREE_PAGE else LARGEST_TREE_PAGE
