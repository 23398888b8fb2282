"""The container ``teardown``, for images only: it tells IMS to save or discard the customised images."""

from __future__ import annotations

import json

from csm_emulator.records import Record
from csm_emulator.services.cfs.jobs.ims_client import ImsClient, ImsError, ImsUnavailable
from csm_emulator.services.cfs.jobs.job_context import ImageJob, JobContext, Run
from csm_emulator.services.cfs.jobs.log_lines import VERSION, line

CONTAINER = "teardown"
POLL = 5.0
_LOGGER = "cray.cfs.teardown"
_SSHD = "sshd"
_FOLDER = "/mnt/image/image-root/tmp"
"""The path of the jail's ``/tmp`` outside the jail."""
_LAYER_FIELDS = ("name", "clone_url", "commit", "playbook")


class TeardownContainer:
    def __init__(self, job_context: JobContext, ims: ImsClient) -> None:
        self._job_context = job_context
        self._ims = ims
        job_context.on_step("teardown-waits", self._wait)
        job_context.on_step("teardown", self._begin)
        job_context.on_step("teardown-poll", self._poll)

    def _wait(self, run: Run) -> None:
        """The container starts with the others and waits for Ansible."""
        self._job_context.say(run, CONTAINER, ["Waiting for Sidecar", "Sidecar available"])
        self._log(run, f"Starting CFS IMS Teardown version={VERSION}, namespace=services")
        self._log(run, "Waiting for `ansible` containers to finish.")

    def _begin(self, run: Run, code: int) -> None:
        self._log(run, f"AEE container has exited with code={code}")
        if run["inventory"] is None:
            self._log(run, "[Errno 2] No such file or directory: '/inventory/image_to_job.yaml'", "ERROR")
            self._close(run, 1)
            return
        for image, image_job in run["images"].items():
            self._signal(run, image, image_job, code)
        if code:
            self._close(run, code)
        else:
            self._job_context.schedule(run, POLL, "teardown-poll", self._job_context.context.clock.now(), 0)

    def _signal(self, run: Run, image: str, image_job: ImageJob, code: int) -> None:
        """Write the signal file that IMS waits for; its content lists the layers and commands of the image."""
        flag = "failed" if code else "complete"
        self._log(run, f"Calling IMS to finish job={image_job['job']} for cfsession={run['name']}")
        self._log(run, f"Remotely touching {flag} file for {image_job['host']}:{image_job['port']}")
        layers = [
            {key: layer[key] for key in _LAYER_FIELDS} for layer in (run["layers"][index] for index in run["applied"])
        ]
        content = json.dumps({"layers": layers, "commands": run["commands"]})
        pod = self._pod(image_job)
        if pod is not None:
            self._job_context.context.cluster.write_file("ims", pod, _SSHD, f"{_FOLDER}/{flag}", content)
        if code:
            message = "Completed teardown of image customization after failed Ansible run for "
            self._log(run, f"{message}image={image}, job={image_job['job']}")

    def _pod(self, image_job: ImageJob) -> str | None:
        pods = self._job_context.context.cluster.pods("ims")
        return next((pod.name for pod in pods if pod.labels.get("job-name") == image_job["pod"]), None)

    def _poll(self, run: Run, since: float, errors: int) -> None:
        waiting, wait = False, POLL
        for image, image_job in run["images"].items():
            if "ended" in image_job:
                continue
            try:
                job = self._ims.job(image_job["job"])
            except (ImsUnavailable, ImsError) as error:
                self._log(run, f"Non-standard response from IMS: {error}", "WARNING")
                errors, waiting = errors + 1, True
                wait = float(errors * 2 + 1)
                quiesce = f"Attempt {errors} will proceed after {int(wait)} second quiesce."
                self._log(run, quiesce, "WARNING")
                continue
            run = self._check_job(run, image, job, since)
            waiting |= "ended" not in run["images"][image]
        if waiting:
            self._job_context.schedule(run, wait, "teardown-poll", since, errors)
        else:
            self._close(run, int(any(image_job["ended"] == "error" for image_job in run["images"].values())))

    def _check_job(self, run: Run, image: str, job: Record, since: float) -> Run:
        elapsed = int(self._job_context.context.clock.now() - since)
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
        self._job_context.records.add_artifact(
            run["name"], {"image_id": image, "result_id": result, "type": "ims_customized_image"}
        )
        return self._mark(run, image, "result")

    def _mark(self, run: Run, image: str, ended: str) -> Run:
        image_job: ImageJob = {**run["images"][image], "ended": ended}
        return self._job_context.put(run, images={**run["images"], image: image_job})

    def _close(self, run: Run, code: int) -> None:
        self._job_context.end(run, CONTAINER, code)
        self._job_context.finish(run, code)

    def _log(self, run: Run, message: str, level: str = "INFO") -> None:
        self._job_context.say(run, CONTAINER, [line(self._job_context.context.clock.now(), _LOGGER, message, level)])
