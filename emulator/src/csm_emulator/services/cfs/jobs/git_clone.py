"""The container ``git-clone``: it clones each repository of the configuration into its own folder."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.cfs.ansible.playbooks.layer_files import ReadingPaused
from csm_emulator.services.cfs.jobs.job_context import JobContext, Run
from csm_emulator.services.cfs.jobs.log_lines import line
from csm_emulator.services.cfs.jobs.repositories import (
    CommitNotFound,
    RepositoryCache,
    RepositoryNotFound,
    VcsUnavailable,
)
from csm_emulator.state.scheduler import ActionNotReady

CONTAINER = "git-clone"
RETRIES, RETRY_DELAY = 60, 10.0
"""``GIT_RETRY_MAX`` and ``GIT_RETRY_DELAY`` (seconds) of the operator."""
_LOGGER = "cray.cfs.clone"
_CLONE_SECONDS = (0.8, 2.5)


class GitCloneContainer:
    def __init__(self, job_context: JobContext, repositories: RepositoryCache) -> None:
        self._job_context = job_context
        self._repositories = repositories
        job_context.on_step("clone", self._begin)
        job_context.on_step("clone-one", self._clone)
        job_context.on_step("clone-failed", self._failed)
        job_context.on_step("cloned", self._done)

    def _begin(self, run: Run) -> None:
        self._job_context.begin(run, CONTAINER)
        self._log(run, "Starting CFS Clone")
        self._next(run, 0)

    def _next(self, run: Run, index: int) -> None:
        if index >= len(_repositories(run)):
            self._job_context.schedule(run, 0.3, "cloned")
        else:
            self._job_context.schedule(
                run,
                self._job_context.random_seconds(*_CLONE_SECONDS, run["job"], "clone", index),
                "clone-one",
                index,
                1,
            )

    def _clone(self, run: Run, index: int, attempt: int) -> None:
        folder, layer = _repositories(run)[index]
        url, commit = layer["clone_url"], layer.get("commit") or ""
        try:
            self._repositories.open(layer)
        except ReadingPaused as paused:
            raise ActionNotReady from paused
        except (VcsUnavailable, RepositoryNotFound) as error:
            self._retry(
                run,
                index,
                attempt,
                _git_failed(f"clone -v -- {url} /inventory/{folder}", str(error) or _VCS_UNAVAILABLE),
            )
            return
        except CommitNotFound as error:
            self._log(run, f"Successfully cloned repo {url}")
            self._log(run, f"Exception checking out commit {commit} for repo {url}", "ERROR")
            self._log(run, _git_failed(f"checkout {commit}", str(error)), "ERROR")
            self._job_context.schedule(run, 0.2, "clone-failed")
            return
        self._log(run, f"Successfully cloned repo {url}")
        if commit:
            self._log(run, f"Successfully checked out commit {commit} for repo {url}")
        self._next(run, index + 1)

    def _retry(self, run: Run, index: int, attempt: int, problem: str) -> None:
        if attempt == 1:
            self._log(run, problem, "WARNING")
        if attempt < RETRIES:
            self._log(run, "Cloning failed - Retrying")
            self._job_context.schedule(run, RETRY_DELAY, "clone-one", index, attempt + 1)
            return
        self._log(run, "Cloning exceeded retry limit", "ERROR")
        self._log(run, problem, "ERROR")
        self._job_context.schedule(run, 0.2, "clone-failed")

    def _failed(self, run: Run) -> None:
        self._job_context.end(run, CONTAINER, 1)
        self._job_context.finish(run, 1)

    def _done(self, run: Run) -> None:
        self._job_context.end(run, CONTAINER, 0)
        self._job_context.schedule(
            run, self._job_context.random_seconds(0.5, 2.0, run["job"], "containers"), "containers"
        )

    def _log(self, run: Run, message: str, level: str = "INFO") -> None:
        first, *other_lines = message.split("\n")
        moment, head = line(self._job_context.context.clock.now(), _LOGGER, first, level)
        self._job_context.say(run, CONTAINER, [(moment, text) for text in (head, *other_lines)])


_VCS_UNAVAILABLE = "fatal: unable to access: The requested URL returned error: 503"


def _repositories(run: Run) -> list[tuple[str, Record]]:
    """Folders with their repositories; debug playbooks have no repository."""
    layers = [(f"layer{layer['layer']}", layer) for layer in run["layers"] if layer["layer"] != "_debug"]
    return [*layers, *([("hosts", run["hosts"])] if run["hosts"] else [])]


def _git_failed(command: str, problem: str) -> str:
    """The message of GitPython about a failed command."""
    return f"Cmd('git') failed due to: exit code(128)\n  cmdline: git {command}\n  stderr: '{problem}'"
