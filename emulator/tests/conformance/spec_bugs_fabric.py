"""Where the Fabric Manager, VNID and console-operator differ from the files; see ``spec_bugs``.

HPE publishes no file for the first and the last: their files are reconstructed from HPE's public clients.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance.violation_patterns import SCHEMA, STATUS, more

KNOWN: Mapping[str, Mapping[str, str]] = {
    "vnid": {},
    "sts": {},
    "fabric-manager": {
        rf".* → (400|404|409): {STATUS}(400|404|409)": (
            "the file was put together from what clients do when all is well; it leaves refusals out in places, which "
            "are answered as Xenon does, with a ServiceErrorResponse"
        ),
        rf"POST /fabric/collectives/jobs → 200: {SCHEMA}/: {more('jobSteps|document[a-zA-Z]+')}": (
            "a job is a document as all others are; the file has only what Slurm reads"
        ),
    },
    "console-operator": {
        rf"GET /console-operator/(interact|tail)/\{{nodeXname\}} → 4\d\d: {STATUS}4\d\d": (
            "a request that is no WebSocket handshake is refused (src/console_op/console.go)"
        ),
        rf"GET /console-operator/getNodePod → 400: {STATUS}400": (
            "without a JSON body it is 400 (src/console_op/data.go)"
        ),
        rf"GET /console-operator/location/\{{podID\}} → 500: {STATUS}500": (
            "a pod that is not there is 500 (src/console_op/data.go)"
        ),
    },
}

SERVER_ERRORS: Mapping[str, Mapping[str, str]] = {
    "console-operator": {
        r"GET /console-operator/location/\{podID\} → 500: .*error retrieving pod location .* not found.*": (
            "Kubernetes knows no such pod (src/console_op/data.go)"
        ),
    },
}
