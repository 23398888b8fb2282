"""The container ``teardown``, for images only: IMS packs what Ansible left, or throws it away."""

from __future__ import annotations

import json
from typing import Any

from csm_emulator.services.cfs.jobs.ims_client import Ims, ImsRefused, ImsSilent
from csm_emulator.services.cfs.jobs.job_context import Bench, Run
from csm_emulator.services.cfs.jobs.log_lines import VERSION, line

CONTAINER = "teardown"
POLL = 5.0
_LOGGER = "cray.cfs.teardown"
_SSHD = "sshd"
_FOLDER = "/mnt/image/image-root/tmp"
"""What ``/tmp`` of the jail is outside of it."""
_LAYER = ("name", "clone_url", "commit", "playbook")


class Teardown:
    def __init__(self, bench: Bench, ims: Ims) -> None:
        self._bench = bench
        self._ims = ims
        bench.answer("teardown-waits", self._wait)
        bench.answer("teardown", self._begin)
        bench.answer("teardown-poll", self._poll)

    def _wait(self, run: Run) -> None:
        """The container begins with the others, long before it has anything to do."""
        self._bench.say(run, CONTAINER, ["Waiting for Sidecar", "Sidecar available"])
        self._log(run, f"Starting CFS IMS Teardown version={VERSION}, namespace=services")
        self._log(run, "Waiting for `ansible` containers to finish.")

    def _begin(self, run: Run, code: int) -> None:
        self._log(run, f"AEE container has exited with code={code}")
        if run["inventory"] is None:
            self._log(run, "[Errno 2] No such file or directory: '/inventory/image_to_job.yaml'", "ERROR")
            self._close(run, 1)
            return
        for image, made in run["images"].items():
            self._signal(run, image, made, code)
        if code:
            self._close(run, code)
        else:
            self._bench.next(run, POLL, "teardown-poll", self._bench.context.clock.now(), 0)

    def _signal(self, run: Run, image: str, made: dict[str, Any], code: int) -> None:
        """Touch the file that IMS waits for; it says what was done to the image."""
        flag = "failed" if code else "complete"
        self._log(run, f"Calling IMS to finish job={made['job']} for cfsession={run['name']}")
        self._log(run, f"Remotely touching {flag} file for {made['host']}:{made['port']}")
        layers = [{key: layer[key] for key in _LAYER} for layer in (run["layers"][place] for place in run["applied"])]
        told = json.dumps({"layers": layers, "commands": run["commands"]})
        pod = self._pod(made)
        if pod is not None:
            self._bench.context.cluster.write_file("ims", pod, _SSHD, f"{_FOLDER}/{flag}", told)
        if code:
            done = "Completed teardown of image customization after failed Ansible run for "
            self._log(run, f"{done}image={image}, job={made['job']}")

    def _pod(self, made: dict[str, Any]) -> str | None:
        pods = self._bench.context.cluster.pods("ims")
        return next((pod.name for pod in pods if pod.labels.get("job-name") == made["pod"]), None)

    def _poll(self, run: Run, since: float, errors: int) -> None:
        waiting, wait = False, POLL
        for image, made in run["images"].items():
            if "ended" in made:
                continue
            try:
                job = self._ims.job(made["job"])
            except (ImsSilent, ImsRefused) as error:
                self._log(run, f"Non-standard response from IMS: {error}", "WARNING")
                errors, waiting = errors + 1, True
                wait = float(errors * 2 + 1)
                quiesce = f"Attempt {errors} will proceed after {int(wait)} second quiesce."
                self._log(run, quiesce, "WARNING")
                continue
            run = self._look(run, image, job, since)
            waiting |= "ended" not in run["images"][image]
        if waiting:
            self._bench.next(run, wait, "teardown-poll", since, errors)
        else:
            self._close(run, int(any(made["ended"] == "error" for made in run["images"].values())))

    def _look(self, run: Run, image: str, job: dict[str, Any], since: float) -> Run:
        elapsed = int(self._bench.context.clock.now() - since)
        waiting = f"Waiting for resultant image of job={job['id']}; IMS status={job['status']}; elapsed time={elapsed}s"
        self._log(run, waiting)
        if job["status"] == "error":
            self._log(
                run, f"Failed to teardown image customization of image={image}in job={job['id']}. Error was", "ERROR"
            )
            return self._mark(run, image, "error")
        result = job.get("resultant_image_id")
        if result is None:
            return run
        self._log(run, f"Resultant image={result} from customization of image={image}")
        self._log(run, f"Updating cfsession={run['name']} artifacts with image={image} result={result}")
        self._bench.book.add_artifact(
            run["name"], {"image_id": image, "result_id": result, "type": "ims_customized_image"}
        )
        return self._mark(run, image, "result")

    def _mark(self, run: Run, image: str, ended: str) -> Run:
        made = {**run["images"][image], "ended": ended}
        return self._bench.put(run, images={**run["images"], image: made})

    def _close(self, run: Run, code: int) -> None:
        self._bench.end(run, CONTAINER, code)
        self._bench.finish(run, code)

    def _log(self, run: Run, message: str, level: str = "INFO") -> None:
        self._bench.say(run, CONTAINER, [line(self._bench.context.clock.now(), _LOGGER, message, level)])
