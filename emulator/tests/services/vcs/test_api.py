"""Gitea's API, as csm-rs, cf-gitea-import and users of curl call it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from csm_emulator.seed_data import repositories
from csm_emulator.seed_data.secrets import vcs_token
from service_client import GARBAGE, reopen
from services.vcs.gitea_client import Gitea, basic

CSM = "/repos/cray/csm-config-management"
IMPORTED = repositories.commit_of("csm-config-management", "cray/csm/1.26.0")
NO_TARGET = "The target couldn't be found."


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def refs(gitea: Gitea, repo: str = CSM) -> dict[str, str]:
    return {reference["ref"]: reference["object"]["sha"] for reference in gitea.get(f"{repo}/git/refs")}


def test_strangers_see_no_private_repository(gitea: Gitea) -> None:
    for headers in ({}, basic("crayvcs", "wrong"), basic("other", "x"), {"authorization": "token 0123"}):
        reply = gitea.ask("GET", CSM, headers=headers)
        assert (reply.status, reply.json()["message"]) == (404, NO_TARGET)
        assert gitea.ask("GET", "/repos/search", headers=headers).json()["data"] == []
        assert gitea.ask("GET", "/user", headers=headers).json()["message"] == "token is required"
        assert gitea.ask("POST", "/orgs/cray/repos", {"name": "x"}, headers).status == 401
    assert gitea.ask("GET", CSM, headers={"authorization": "Basic \xff"}).status == 404


def test_a_token_opens_what_a_password_does(gitea: Gitea) -> None:
    first = {"authorization": f"token {vcs_token(gitea.site.random)}"}
    assert gitea.ask("GET", CSM, headers=first).status == 200
    reply = gitea.ask("POST", "/users/crayvcs/tokens", {"name": "mine"})
    assert reply.status == 201
    token = reply.json()["sha1"]
    assert len(token) == 40
    assert reply.json()["token_last_eight"] == token[-8:]
    for headers in ({"authorization": f"token {token}"}, basic(token, ""), basic("any", token)):
        assert gitea.ask("GET", "/user", headers=headers).json()["login"] == "crayvcs"
        assert gitea.ask("GET", "/users/crayvcs/tokens", headers=headers).status == 401
    assert gitea.refusal("POST", "/users/crayvcs/tokens", {"name": "mine"}) == (
        400,
        "access token name has been used already",
    )
    assert gitea.refusal("POST", "/users/crayvcs/tokens", {}) == (422, "[Name]: Required")
    assert [entry["sha1"] for entry in gitea.get("/users/crayvcs/tokens")] == ["", ""]
    assert gitea.ask("DELETE", "/users/crayvcs/tokens/mine").status == 204
    assert gitea.ask("DELETE", "/users/crayvcs/tokens/mine").status == 404
    assert gitea.ask("GET", "/user", headers={"authorization": f"token {token}"}).status == 401


def test_what_csm_rs_asks(gitea: Gitea) -> None:
    assert refs(gitea)["refs/heads/cray/csm/1.26.0"] == IMPORTED
    tag = gitea.get(f"{CSM}/tags/1.26.0")
    assert tag["commit"]["sha"] == IMPORTED
    commit = gitea.get(f"{CSM}/git/commits/{IMPORTED}")
    assert commit["sha"] == IMPORTED
    assert commit["commit"]["message"] == "Import of 'csm' product version 1.26.0\n"
    assert commit["commit"]["author"]["name"] == "crayvcs"
    assert commit["commit"]["committer"]["date"] == "2025-01-31T10:00:00Z"
    assert [file["filename"] for file in commit["files"]] == ["vars/product.yml"]
    assert commit["stats"] == {"total": 2, "additions": 1, "deletions": 1}
    assert gitea.refusal("GET", f"{CSM}/git/commits/{'0' * 40}") == (404, "0" * 40)
    assert gitea.refusal("GET", f"{CSM}/git/commits/--all") == (422, "no valid ref or sha: --all")
    assert gitea.refusal("GET", f"{CSM}/tags/none") == (404, "none")
    assert gitea.refusal("GET", f"{CSM}/git/refs/heads/none") == (404, NO_TARGET)


def test_branches_come_and_go(gitea: Gitea) -> None:
    branch = gitea.get(f"{CSM}/branches/cray%2Fcsm%2F1.26.0")
    assert (branch["name"], branch["commit"]["id"]) == ("cray/csm/1.26.0", IMPORTED)
    assert (branch["protected"], branch["user_can_push"]) == (True, False)
    reply = gitea.ask("POST", f"{CSM}/branches", {"new_branch_name": "try/one", "old_branch_name": "integration"})
    assert reply.status == 201
    assert reply.json()["commit"]["id"] == refs(gitea)["refs/heads/integration"] == refs(gitea)["refs/heads/try/one"]
    assert gitea.ask("POST", f"{CSM}/branches", {"new_branch_name": "b", "old_ref_name": IMPORTED[:9]}).status == 201
    assert refs(gitea)["refs/heads/b"] == IMPORTED
    for body, message in [
        ({"new_branch_name": "try/one"}, (409, "The branch already exists.")),
        ({"new_branch_name": "try"}, (409, "The branch with the same name already exists.")),
        ({"new_branch_name": "1.26.0"}, (409, "The branch with the same tag already exists.")),
        ({"new_branch_name": "x", "old_branch_name": "none"}, (404, "The old branch does not exist")),
        ({"new_branch_name": "../../etc"}, (422, "[BranchName]: GitRefName")),
        ({"new_branch_name": "-d"}, (422, "[BranchName]: GitRefName")),
        ({"new_branch_name": "a\nupdate refs/heads/main 1"}, (422, "[BranchName]: GitRefName")),
        ({}, (422, "[NewBranchName]: Required")),
    ]:
        assert gitea.refusal("POST", f"{CSM}/branches", body) == message
    assert gitea.ask("DELETE", f"{CSM}/branches/try/one").status == 204
    assert gitea.refusal("DELETE", f"{CSM}/branches/try/one") == (404, NO_TARGET)
    assert gitea.refusal("DELETE", f"{CSM}/branches/main")[0] == 403
    assert gitea.refusal("DELETE", f"{CSM}/branches/cray/csm/1.26.0") == (403, "branch protected")
    names = [entry["name"] for entry in gitea.get(f"{CSM}/branches?limit=2&page=2")]
    assert names == ["cray/csm/1.26.0", "integration"]


def test_protection_is_set_and_lifted(gitea: Gitea) -> None:
    """The requests of cf-gitea-import, in their order."""
    place = f"{CSM}/branch_protections"
    assert gitea.refusal("POST", place, {"branch_name": "cray/csm/1.26.0", "enable_push": False}) == (
        403,
        "Branch protection already exist",
    )
    assert gitea.ask("PATCH", f"{place}/cray%2Fcsm%2F1.26.0", {"enable_push": True}).json()["enable_push"] is True
    assert gitea.get(f"{CSM}/branches/cray/csm/1.26.0")["user_can_push"] is True
    assert gitea.ask("DELETE", f"{place}/cray%2Fcsm%2F1.26.0").status == 204
    assert gitea.ask("DELETE", f"{place}/cray%2Fcsm%2F1.26.0").status == 404
    assert gitea.get(f"{CSM}/branches/cray/csm/1.26.0")["protected"] is False
    assert gitea.ask("POST", place, {"branch_name": "int*", "enable_push": False}).status == 201
    assert gitea.get(f"{CSM}/branches/integration")["effective_branch_protection_name"] == "int*"


def test_files_are_read_at_any_commit(gitea: Gitea) -> None:
    entries = gitea.get(f"{CSM}/git/trees/main?recursive=true")["tree"]
    blobs = {entry["path"]: entry["sha"] for entry in entries if entry["type"] == "blob"}
    raw = gitea.ask("GET", f"{CSM}/raw/site.yml?ref={IMPORTED}")
    assert raw.body.startswith(b"---\n- import_playbook")
    file = gitea.get(f"{CSM}/contents/site.yml?ref=main")
    assert base64.b64decode(file["content"]) == raw.body
    assert file["sha"] == blobs["site.yml"]
    assert base64.b64decode(gitea.get(f"{CSM}/git/blobs/{blobs['site.yml']}")["content"]) == raw.body
    listing = gitea.get(f"{CSM}/contents/roles")
    assert {(entry["path"], entry["type"]) for entry in listing} >= {("roles/csm.packages", "dir")}
    assert gitea.ask("GET", f"{CSM}/raw/group_vars/Compute/time.yml?ref=integration").status == 200
    assert gitea.ask("GET", f"{CSM}/raw/group_vars/Compute/time.yml?ref=main").status == 404


@pytest.mark.parametrize(
    "path", ["..%2f..%2fetc%2fpasswd", "../HEAD", ".git/config", "*", ":(top)site.yml", "a%00b", "-r", "/", "%ff"]
)
def test_no_path_leads_out(gitea: Gitea, path: str) -> None:
    for kind in ("raw", "contents"):
        reply = gitea.ask("GET", f"{CSM}/{kind}/{path}")
        assert reply.status in (404, 200) if path == "/" else reply.status == 404
    assert gitea.ask("GET", f"/repos/..%2f..%2fetc/passwd/{path}").status == 404
    assert gitea.ask("GET", f"{CSM}/commits?path={path}").status == (200 if path == "/" else 404)
    assert gitea.ask("GET", f"{CSM}/contents?ref={path}").status == 404


def test_files_are_written_as_commits(gitea: Gitea) -> None:
    head_before = refs(gitea)["refs/heads/integration"]
    body: dict[str, Any] = {"branch": "integration", "message": "One more", "content": encoded("a: 1\n")}
    body |= {"author": {"name": "Bea", "email": "bea@site.local"}}
    creation = gitea.ask("POST", f"{CSM}/contents/group_vars/all/more.yml", body)
    assert creation.status == 201
    sha, commit = creation.json()["content"]["sha"], creation.json()["commit"]
    assert [parent["sha"] for parent in commit["parents"]] == [head_before]
    assert commit["author"]["name"] == commit["committer"]["name"] == "Bea"
    assert refs(gitea)["refs/heads/integration"] == commit["sha"]
    refusal = gitea.refusal("POST", f"{CSM}/contents/group_vars/all/more.yml", body)
    assert refusal == (422, "repository file already exists [path: group_vars/all/more.yml]")
    changed = {**body, "content": encoded("a: 2\n"), "sha": "0" * 40}
    assert gitea.refusal("PUT", f"{CSM}/contents/group_vars/all/more.yml", changed) == (
        422,
        f"sha does not match [given: {'0' * 40}, expected: {sha}]",
    )
    reply = gitea.ask("PUT", f"{CSM}/contents/group_vars/all/more.yml", {**changed, "sha": sha})
    assert reply.status == 200
    sha = reply.json()["content"]["sha"]
    assert gitea.ask("GET", f"{CSM}/raw/group_vars/all/more.yml?ref=integration").body == b"a: 2\n"
    deletion = gitea.ask("DELETE", f"{CSM}/contents/group_vars/all/more.yml", {"branch": "integration", "sha": sha})
    assert (deletion.status, deletion.json()["content"]) == (200, None)
    assert gitea.ask("GET", f"{CSM}/raw/group_vars/all/more.yml?ref=integration").status == 404
    subjects = [entry["commit"]["message"] for entry in gitea.get(f"{CSM}/commits?sha=integration&limit=3")]
    assert subjects == ["Delete 'group_vars/all/more.yml'\n", "One more\n", "One more\n"]
    imported = {**body, "branch": "cray/csm/1.26.0"}
    assert gitea.refusal("POST", f"{CSM}/contents/x", imported)[0] == 403
    assert gitea.refusal("POST", f"{CSM}/contents/.git/hooks/x", body)[0] == 422
    assert gitea.refusal("POST", f"{CSM}/contents/x", {**body, "content": "!"})[0] == 422


def test_a_repository_lives_and_goes(gitea: Gitea) -> None:
    assert gitea.refusal("POST", "/orgs", {"username": "cray"}) == (422, "user already exists [name: cray]")
    assert gitea.ask("POST", "/orgs", {"username": "Site"}).status == 201
    reply = gitea.ask("POST", "/org/site/repos", {"name": "tools", "auto_init": True, "private": True})
    assert reply.status == 201
    assert (reply.json()["full_name"], reply.json()["empty"]) == ("Site/tools", False)
    assert gitea.refusal("POST", "/orgs/site/repos", {"name": "TOOLS"}) == (
        409,
        "The repository with the same name already exists.",
    )
    bare = gitea.ask("POST", "/user/repos", {"name": "empty"}).json()
    assert (bare["full_name"], bare["empty"]) == ("crayvcs/empty", True)
    assert gitea.ask("GET", "/repos/crayvcs/empty", headers={}).status == 200
    assert gitea.refusal("GET", "/repos/crayvcs/empty/git/refs") == (409, "Git Repository is empty.")
    assert gitea.ask("POST", "/repos/crayvcs/empty/contents/a", {"content": encoded("a")}).status == 201
    assert gitea.ask("PATCH", "/repos/crayvcs/empty", {"private": True}).json()["private"] is True
    assert gitea.ask("GET", "/repos/crayvcs/empty", headers={}).status == 404
    assert gitea.ask("DELETE", "/repos/crayvcs/empty").status == 204
    assert gitea.ask("GET", "/repos/crayvcs/empty").status == 404
    for name in ("..", "a/b", "x.git", "", "a b", "é"):
        assert gitea.refusal("POST", "/user/repos", {"name": name})[0] == 422
    site = reopen(gitea.site)
    assert set(refs(Gitea(site), "/repos/site/tools")) == {"refs/heads/main"}
    assert Gitea(site).ask("GET", "/repos/crayvcs/empty").status == 404


def test_what_was_written_is_there_after_a_restart(gitea: Gitea) -> None:
    gitea.ask("POST", f"{CSM}/contents/kept", {"content": encoded("kept"), "branch": "integration"})
    assert gitea.ask("POST", f"{CSM}/tags", {"tag_name": "said/so", "message": "so"}).status == 201
    refs_before = refs(gitea)
    reopened_gitea = Gitea(reopen(gitea.site))
    assert refs(reopened_gitea) == refs_before
    assert reopened_gitea.ask("GET", f"{CSM}/raw/kept?ref=integration").body == b"kept"
    tag = reopened_gitea.get(f"{CSM}/tags/said/so")
    assert (tag["message"], tag["commit"]["sha"]) == ("so", IMPORTED)
    assert tag["id"] != IMPORTED
    assert reopened_gitea.ask("DELETE", f"{CSM}/tags/said/so").status == 204
    third = Gitea(reopen(reopened_gitea.site))
    assert set(refs_before) - set(refs(third)) == {"refs/tags/said/so"}


def test_an_old_bundle_is_not_kept(gitea: Gitea) -> None:
    for text in ("one", "two"):
        gitea.ask("POST", f"{CSM}/contents/{text}", {"content": encoded(text), "branch": "integration"})
        gitea.site.save()
    blobs = gitea.site.context.blobs
    assert (blobs.get("vcs/1/1"), bool(blobs.get("vcs/1/2"))) == (None, True)


@pytest.mark.parametrize("body", GARBAGE)
def test_garbage_is_answered(gitea: Gitea, body: bytes) -> None:
    for method, path in [
        ("POST", "/orgs"),
        ("POST", "/user/repos"),
        ("PATCH", CSM),
        ("POST", f"{CSM}/branches"),
        ("POST", f"{CSM}/branch_protections"),
        ("POST", f"{CSM}/tags"),
        ("POST", f"{CSM}/contents/x"),
        ("POST", "/users/crayvcs/tokens"),
    ]:
        assert gitea.ask(method, path, body).status in (200, 201, 400, 422)


def test_an_organization_comes_and_goes_as_hpes_health_check_has_it(gitea: Gitea) -> None:
    """The requests of cmsdev, in their order: create, read, fill, try to delete, empty, delete, read."""
    body = {"username": "test-cmsdev-1", "visibility": "public", "description": "Test"}
    reply = gitea.ask("POST", "/orgs", body)
    assert reply.status == 201
    assert gitea.get("/orgs/test-cmsdev-1") == reply.json()
    options = {"name": "harf", "auto_init": None, "gitignores": None, "license": None, "private": False, "readme": None}
    assert gitea.ask("POST", "/org/test-cmsdev-1/repos", options).status == 201
    assert gitea.ask("DELETE", "/orgs/test-cmsdev-1", headers={}).status == 401
    owning = f"user still has ownership of repositories [uid: {reply.json()['id']}]"
    assert gitea.refusal("DELETE", "/orgs/Test-CmsDev-1") == (500, owning)
    assert gitea.ask("DELETE", "/repos/test-cmsdev-1/harf").status == 204
    assert gitea.ask("DELETE", "/orgs/test-cmsdev-1").status == 204
    missing_reply = gitea.ask("GET", "/orgs/test-cmsdev-1")
    assert (missing_reply.status, missing_reply.json()["message"]) == (404, "GetOrgByName")
    assert missing_reply.json()["errors"] == ["user redirect does not exist [name: test-cmsdev-1]"]
    for method, path in (("DELETE", ""), ("PATCH", ""), ("GET", "/repos"), ("POST", "/repos"), ("GET", "/members")):
        assert gitea.refusal(method, f"/orgs/test-cmsdev-1{path}", {"name": "x"}) == (404, "GetOrgByName")
    assert gitea.ask("POST", "/orgs", body).json()["id"] > reply.json()["id"]


def test_the_user_and_the_furnished_organization_are_not_deleted_so(gitea: Gitea) -> None:
    assert gitea.refusal("DELETE", "/orgs/cray") == (500, "user still has ownership of repositories [uid: 2]")
    assert gitea.refusal("DELETE", "/orgs/crayvcs") == (404, "GetOrgByName")


def test_an_organization_is_edited_and_hidden(gitea: Gitea) -> None:
    assert gitea.ask("POST", "/orgs", {"username": "Lab", "full_name": "The Lab", "website": "https://l"}).status == 201
    edited = gitea.ask("PATCH", "/orgs/lab", {"description": "beams", "visibility": "private"}).json()
    assert (edited["full_name"], edited["website"], edited["description"]) == ("", "", "beams")
    assert gitea.ask("PATCH", "/orgs/lab", {}).json()["visibility"] == "private"
    assert gitea.refusal("PATCH", "/orgs/lab", {"visibility": "secret"}) == (422, "[Visibility]: In")
    assert gitea.refusal("POST", "/orgs", {"username": "x", "visibility": "secret"}) == (422, "[Visibility]: In")
    assert gitea.ask("PATCH", "/orgs/lab", {}, {}).status == 401
    assert gitea.ask("GET", "/orgs/lab", headers={}).json()["message"] == "HasOrgOrUserVisible"
    assert [one["username"] for one in gitea.ask("GET", "/orgs", headers={}).json()] == ["cray"]
    assert [one["username"] for one in gitea.get("/users/crayvcs/orgs")] == ["cray", "Lab"]
    assert gitea.get("/users/cray/orgs") == []


def test_members_of_an_organization(gitea: Gitea) -> None:
    assert [one["login"] for one in gitea.get("/orgs/cray/members")] == ["crayvcs"]
    assert gitea.ask("GET", "/orgs/cray/members", headers={}).json() == []
    assert gitea.ask("GET", "/orgs/cray/members/CrayVCS").status == 204
    assert gitea.refusal("GET", "/orgs/cray/members/other") == (404, NO_TARGET)
