"""The real git, against a real listener."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from csm_emulator.process import Emulator, emulate
from csm_emulator.seed_data import repositories

GIT = shutil.which("git") or "git"
USS = "cray/uss-config-management"
SLURM = "cray/slurm-config-management"


class Client:
    """A user's git, with settings of its own."""

    def __init__(self, machine: Emulator, folder: Path) -> None:
        self.machine = machine
        self.folder = folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_SSL_CAINFO": machine.ca or "",
            "GIT_AUTHOR_NAME": "Bea",
            "GIT_AUTHOR_EMAIL": "bea@site.local",
            "GIT_COMMITTER_NAME": "Bea",
            "GIT_COMMITTER_EMAIL": "bea@site.local",
        }

    def url(self, repository: str, password: str | None = None) -> str:
        password = self.machine.vcs["password"] if password is None else password
        return self.machine.url.replace("://", f"://crayvcs:{password}@") + f"/vcs/{repository}.git"

    def run(self, *args: str, work: str = "") -> subprocess.CompletedProcess[str]:
        command = [GIT, "-C", str(self.folder / work), *args]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=60)

    def git(self, *args: str, work: str = "") -> str:
        completed = self.run(*args, work=work)
        assert completed.returncode == 0, completed.stderr
        return completed.stdout.strip()

    def clone(self, repository: str, *options: str) -> str:
        """The name of the folder."""
        work = f"work{len(list(self.folder.iterdir()))}"
        self.git("clone", "-q", *options, self.url(repository), work)
        return work

    def commit(self, work: str, name: str, text: str) -> str:
        (self.folder / work / name).write_text(text)
        self.git("add", "-A", work=work)
        self.git("commit", "-q", "-m", f"{name} says {text}"[:60], work=work)
        return self.git("rev-parse", "HEAD", work=work)

    def api(self, path: str) -> object:
        headers = {"Authorization": self.basic()}
        return self.machine.send("GET", f"{self.machine.url}/vcs/api/v1{path}", headers=headers).json()

    def basic(self) -> str:
        return "Basic " + b64encode(f"crayvcs:{self.machine.vcs['password']}".encode()).decode()


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny") as running:
        yield running


@pytest.fixture
def client(machine: Emulator, tmp_path: Path) -> Client:
    return Client(machine, tmp_path)


@pytest.mark.parametrize("version", ["0", "1", "2"])
def test_a_clone_has_what_the_site_was_given(client: Client, version: str) -> None:
    work = client.clone(USS, "-c", f"protocol.version={version}", "--branch", "integration")
    assert client.git("rev-parse", "HEAD", work=work) == repositories.commit_of("uss-config-management", "integration")
    assert "/capstor/store" in (client.folder / work / "group_vars/Compute/lustre.yml").read_text()
    assert client.git("fsck", "--strict", work=work) == ""


def test_one_commit_alone_can_be_fetched(client: Client) -> None:
    """A clone as CFS does it: a layer names a commit."""
    earlier = repositories.commit_of("uss-config-management", "cray/uss/1.1.0")
    shallow = client.clone(USS, "--depth", "1")
    assert client.git("rev-list", "--count", "HEAD", work=shallow) == "1"
    client.git("fetch", "-q", "--depth", "1", "origin", earlier, work=shallow)
    assert client.git("show", f"{earlier}:vars/product.yml", work=shallow).endswith('"1.1.0"')
    client.git("fetch", "-q", "--unshallow", work=shallow)
    assert client.git("rev-list", "--count", "HEAD", work=shallow) == "2"
    assert client.clone(USS, "--filter=blob:none")


def test_a_commit_that_no_branch_is_at_can_be_fetched(client: Client) -> None:
    mine, theirs = client.clone(SLURM), client.clone(SLURM)
    first = client.commit(mine, "one", "1")
    client.commit(mine, "two", "2")
    client.git("push", "-q", "origin", "HEAD:refs/heads/deep", work=mine)
    for version in ("0", "2"):
        client.git("-c", f"protocol.version={version}", "fetch", "-q", "--depth=1", "origin", first, work=theirs)
        assert client.git("rev-parse", "FETCH_HEAD", work=theirs) == first


@pytest.mark.parametrize(("version", "first_line"), [("version=2", b"version 2\n"), ("version=1", b"version 1\n")])
def test_the_protocol_is_the_one_that_is_asked_for(client: Client, version: str, first_line: bytes) -> None:
    url = f"{client.machine.url}/vcs/{USS}.git/info/refs?service=git-upload-pack"
    answer = client.machine.send("GET", url, headers={"Authorization": client.basic(), "Git-Protocol": version})
    assert first_line in answer.body
    odd = {"Authorization": client.basic(), "Git-Protocol": "version=2:x=$(id)"}
    assert first_line not in client.machine.send("GET", url, headers=odd).body


def test_a_push_is_seen_by_others(client: Client) -> None:
    mine, theirs = client.clone(SLURM), client.clone(SLURM)
    commit = client.commit(mine, "site.yml", "---\n[]\n")
    client.git("push", "-q", "origin", "HEAD:refs/heads/mine", "HEAD:refs/tags/mine-1", work=mine)
    client.git("fetch", "-q", work=theirs)
    assert client.git("rev-parse", "origin/mine", "mine-1", work=theirs).split() == [commit, commit]
    assert client.api(f"/repos/{SLURM}/branches/mine")["commit"]["id"] == commit  # type: ignore[index]
    client.git("push", "-q", "origin", ":mine", work=mine)
    assert client.git("ls-remote", "--heads", "origin", "mine", work=theirs) == ""


def test_a_large_push_arrives_whole(client: Client) -> None:
    """Larger than git's buffer: it comes in chunks, compressed where that helps."""
    work = client.clone(SLURM)
    (client.folder / work / "noise").write_bytes(os.urandom(3 << 20))
    commit = client.commit(work, "text", "word " * 500_000)
    client.git("push", "-q", "origin", "HEAD:refs/heads/large", work=work)
    second_clone = client.clone(SLURM, "--branch", "large")
    assert client.git("rev-parse", "HEAD", work=second_clone) == commit
    assert (client.folder / second_clone / "noise").read_bytes() == (client.folder / work / "noise").read_bytes()


def test_a_wrong_password_is_refused(client: Client) -> None:
    for url in (client.url(USS, "wrong"), client.machine.url + f"/vcs/{USS}.git"):
        refused = client.run("ls-remote", url)
        assert refused.returncode == 128
        assert "Authentication failed" in refused.stderr or "could not read Username" in refused.stderr
    bare = client.machine.send("GET", client.machine.url + f"/vcs/{USS}.git/info/refs?service=git-upload-pack")
    assert (bare.status, bare.headers["www-authenticate"]) == (401, 'Basic realm="."')


def test_what_was_imported_stays_as_it_is(client: Client) -> None:
    work = client.clone(USS)
    client.commit(work, "mine", "x")
    for what, message in [
        ("HEAD:cray/uss/1.2.1", "Not allowed to push to protected branch cray/uss/1.2.1"),
        ("+HEAD~2:cray/uss/1.2.1", "branch cray/uss/1.2.1 is protected from force push"),
        (":cray/uss/1.2.1", "branch cray/uss/1.2.1 is protected from deletion"),
        (":main", "branch main is the default branch and cannot be deleted"),
    ]:
        refused = client.run("push", "origin", what, work=work)
        assert refused.returncode == 1
        assert f"remote: Gitea: {message}" in refused.stderr
        assert "pre-receive hook declined" in refused.stderr
    # A refused ref takes the others with it.
    assert client.run("push", "origin", "HEAD:fine", "HEAD:cray/uss/1.2.1", work=work).returncode == 1
    assert client.git("ls-remote", "--heads", "origin", "fine", work=work) == ""


def test_history_is_rewritten_only_by_force(client: Client) -> None:
    work = client.clone(USS)
    client.git("push", "-q", "origin", "HEAD:refs/heads/moving", work=work)
    client.git("reset", "-q", "--hard", "HEAD~1", work=work)
    commit = client.commit(work, "other", "way")
    refused = client.run("push", "origin", "HEAD:moving", work=work)
    assert (refused.returncode, "non-fast-forward" in refused.stderr) == (1, True)
    client.git("push", "-q", "--force", "origin", "HEAD:moving", work=work)
    assert client.git("ls-remote", "origin", "refs/heads/moving", work=work).split()[0] == commit


def test_missing_repositories_are_not_found(client: Client) -> None:
    assert "not found" in client.run("ls-remote", client.url("cray/none")).stderr
    assert "not found" in client.run("ls-remote", client.url("missing/none")).stderr
    work = client.clone(USS)
    refused = client.run("push", client.url("cray/none"), "HEAD:main", work=work)
    assert (refused.returncode, "403" in refused.stderr) == (128, True)


def test_links_stay_inside(client: Client, tmp_path: Path) -> None:
    """A tree may contain any name; no path of it ever reaches a file of the host."""
    work = client.clone(SLURM)
    (client.folder / work / "out").symlink_to("/etc/passwd")
    client.commit(work, "beside", "x")
    client.git("push", "-q", "origin", "HEAD:refs/heads/links", work=work)
    entry = client.api(f"/repos/{SLURM}/contents/out?ref=links")
    assert (entry["type"], entry["target"]) == ("symlink", "/etc/passwd")  # type: ignore[index]
    raw = client.machine.send(
        "GET",
        f"{client.machine.url}/vcs/api/v1/repos/{SLURM}/raw/out?ref=links",
        headers={"Authorization": client.basic()},
    )
    assert raw.body == b"/etc/passwd"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        b"0000",
        b"ffff",
        b"0003",
        b"00" * 10_000,
        gzip.compress(b"0" * (1 << 20)),
        b"0032want " + b"x" * 41,
    ],
)
def test_garbage_ends_in_an_answer(client: Client, body: bytes) -> None:
    for service in ("git-upload-pack", "git-receive-pack"):
        for encoding in ("", "gzip"):
            status = _post(client, USS, service, body, encoding)
            assert status in (200, 500)
    assert client.git("ls-remote", client.url(USS)) != ""


def _post(client: Client, repository: str, service: str, body: bytes, encoding: str) -> int:
    place = urlsplit(client.machine.services["vcs"])
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    headers = {"Authorization": client.basic(), "Content-Type": f"application/x-{service}-request"}
    headers |= {"Content-Encoding": encoding} if encoding else {}
    try:
        connection.request("POST", f"/{repository}.git/{service}", body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def test_who_goes_away_leaves_no_process(client: Client) -> None:
    """A client that disconnects before it has read everything."""
    work = client.clone(SLURM)
    (client.folder / work / "noise").write_bytes(os.urandom(12 << 20))
    commit = client.commit(work, "a", "b")
    client.git("push", "-q", "origin", "HEAD:refs/heads/heavy", work=work)
    line = f"want {commit} ofs-delta\n"
    body = f"{len(line) + 4:04x}{line}00000009done\n".encode()
    place = urlsplit(client.machine.services["vcs"])
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    headers = {"Authorization": client.basic(), "Content-Type": "application/x-git-upload-pack-request"}
    connection.request("POST", f"/{SLURM}.git/git-upload-pack", body, headers)
    assert connection.getresponse().read(1000)
    assert _children(client.machine.pid)
    connection.close()
    deadline = time.monotonic() + 20
    while _children(client.machine.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _children(client.machine.pid)


def _children(pid: int) -> list[str]:
    children = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        children += (thread / "children").read_text().split()
    return children


def test_pushes_outlive_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = tmp_path / "places"
    places.mkdir()
    monkeypatch.setenv("TMPDIR", str(places))
    state, saved = str(tmp_path / "machine.state"), str(tmp_path / "saved.state")
    home = tmp_path / "home"
    home.mkdir()
    with emulate("empty", "--state", state) as machine:
        client = Client(machine, home)
        work = client.clone(SLURM)
        first = client.commit(work, "a", "1")
        client.git("push", "-q", "origin", "HEAD:main", work=work)
        machine.ask_control("POST", "/save", {"path": saved})
        client.git("push", "-q", "--force", "origin", "HEAD~1:main", work=work)
    with emulate("empty", "--state", state) as machine:
        client = Client(machine, home)
        assert client.git("ls-remote", client.url(SLURM), "refs/heads/main").split()[0] == repositories.commit_of(
            "slurm-config-management", "main"
        )
        machine.ask_control("POST", "/load", {"path": saved})
        work = client.clone(SLURM)
        assert client.git("rev-parse", "HEAD", work=work) == first
        assert json.loads(machine.send("GET", machine.url + "/vcs/api/v1/version").body) == {"version": "1.17.2"}
        (folder,) = places.glob("csm-emulator-vcs-*")
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
