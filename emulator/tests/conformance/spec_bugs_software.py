"""Where BOS, CFS, IMS and TAPMS differ from HPE's files; see ``spec_bugs``."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.violation_patterns import NULL, PROBLEM, SCHEMA, STATUS, TEXT, more

_V3_JOB = "job_mem_size|kubernetes_pvc|kubernetes_secret|remote_build_node"

KNOWN: Mapping[str, Mapping[str, str]] = {
    "bos": {
        rf"\w+ /v2/session(template)?s(valid)?(/.*)? → 400: {STATUS}400": (
            "connexion refuses names and ages that the file's own patterns forbid; the file forgets to say so"
        ),
        rf"\w+ /v2/components.* → 200: {SCHEMA}.*/last_updated: format": (
            "times have no zone (src/bos/common/utils.py, get_current_timestamp)"
        ),
        rf"POST /v2/sessions/\{{session_id\}}/status → 200: {SCHEMA}/(status)?: .*": (
            "the extended status comes back; the file says the session (controllers/v2/sessions.py)"
        ),
        rf"PATCH /v2/components/\{{component_id\}} → 409: {SCHEMA}/title: .* is not in the enum": (
            "the title says what is wrong; the enum has the general word (controllers/v2/components.py)"
        ),
    },
    "cfs": {
        rf"\w+ /v[23]/sessions.* → 20[01]: {SCHEMA}.*/start_?[tT]ime: format": (
            "times of sessions have no zone (controllers/sessions.py)"
        ),
        rf"\w+ /v[23]/sessions.* → 20[01]: {SCHEMA}.*/target/(groups|image_map): {NULL}": (
            "what was never said is `null`: the generated models write every field (controllers/sessions.py)"
        ),
        rf"\w+ /v[23]/sessions.* → 20[01]: {SCHEMA}.*/status/session/(job|ims_job|completion_time): {NULL}": (
            "what is not known yet is `null` (controllers/sessions.py)"
        ),
        rf"PATCH /v3/sessions/\{{session_name\}} → 200: {SCHEMA}/logs: {NULL}": (
            "a patch answers without the link to the logs (controllers/sessions.py, patch_session_v3)"
        ),
        rf"PUT /v[23]/components.* → 200: {SCHEMA}.*/state_?[aA]ppend: not": (
            "only a patch appends; a put keeps `stateAppend` as it came (controllers/components.py)"
        ),
        rf"PATCH /v[23]/components.* → 200: {SCHEMA}.*/state/\*: .* is a required property": (
            "what a patch appends is kept as it came, also when fields are missing (controllers/components.py)"
        ),
        rf"(\w+ /v[23]/(components|configurations).*|(GET /v[23]|DELETE /v2)/sessions) → 500: {STATUS}500": (
            "fields that the file calls optional are looked for without a check; see the server errors"
        ),
    },
    "ims": {
        rf".* → (400|404|422): {PROBLEM}": (
            "errors are application/problem+json; the file has application/json (errors.py)"
        ),
        rf".* → 20[01]: {SCHEMA}.*/(created|deleted): format": "times have no zone (models)",
        rf".* → 20[01]: {SCHEMA}.*/link: {NULL}": "what has no artefact has a `null` (models/images.py, recipes.py)",
        rf".* → (400|500): {SCHEMA}/: {more('message')}": (
            "what flask-restful refuses or fails at by itself is a `message`, and no problem"
        ),
        rf".* (/v[23])?/jobs.* → 20[01]: {SCHEMA}/(\*)?: {more(_V3_JOB)}": (
            "jobs have fields that came after the file was written (models/jobs.py)"
        ),
        rf".* (/v[23])?/jobs.* → 20[01]: {SCHEMA}/(\*/)?(resultant_image_id|ssh_containers): {NULL}": (
            "what is not known, or not said, is `null` (models/jobs.py)"
        ),
        rf"PATCH (/v[23])?/jobs/\{{job_id\}} → 200: {SCHEMA}/status: 'packaging_artifacts' is not in the enum": (
            "a job that packs its artefacts says so; the enum leaves the word out (models/jobs.py)"
        ),
        rf"DELETE (/v[23])?/jobs → 400: {STATUS}400": "filters that cannot be read are 400 (v2/resources/jobs.py)",
        rf"GET /v3/deleted/recipes.* → 200: {SCHEMA}/(\*)?: {more('template_dictionary')}": (
            "a deleted recipe keeps its template dictionary (models/recipes.py)"
        ),
        rf"GET /v3/remote-build-nodes/status/\{{remote_build_node_xname\}} → 404: {STATUS}404": (
            "a node that is none of the builders is 404 (v3/resources/remote_build_nodes.py)"
        ),
        rf"GET /v3/remote-build-nodes/status/\{{remote_build_node_xname\}} → 200: {SCHEMA}/: dict is of .*": (
            "the state of one node is one object; the file says a list (v3/resources/remote_build_nodes.py)"
        ),
        rf"\w+ /remote-build-nodes.* → 404: {STATUS}404": (
            "remote build nodes have no paths without a version (v3/__init__.py)"
        ),
        rf"GET /version → 200: {SCHEMA}/: dict is of the wrong type": (
            "the version stands in an object; the file says a string (resources/version.py)"
        ),
    },
    "tapms": {
        rf"(GET|POST) /v1alpha3/tenants → 200: {SCHEMA}/: dict is of the wrong type": (
            "a Kubernetes list comes back, with its `items`; the file says an array (controllers/tenant_server.go)"
        ),
        rf"GET /v1alpha3/tenants/\{{id\}} → 200: {SCHEMA}/: {more('kind|apiVersion|metadata')}": (
            "the whole Kubernetes object comes back (controllers/tenant_server.go)"
        ),
        rf"GET /v1alpha3/tenants/\{{id\}} → 404: {SCHEMA}/: str is of the wrong type": (
            "a tenant that is not there is a plain text in JSON (controllers/tenant_server.go)"
        ),
        rf"POST /v1alpha3/tenants → 400: {TEXT}": (
            "gin has answered a body that cannot be read before the handler does (controllers/tenant_server.go)"
        ),
    },
}

_LOOKED_FOR = "(?s:.*)Internal Server Error(?s:.*)"
SERVER_ERRORS: Mapping[str, Mapping[str, str]] = {
    "cfs": {
        rf"PUT /v2/components.* → 500: {_LOOKED_FOR}": (
            "`state` and the commits in it are looked for without a check (controllers/components.py, "
            "convert_component_to_v3)"
        ),
        rf"PATCH /v[23]/components.* → 500: {_LOOKED_FOR}": (
            "so are the fields of what is appended (controllers/components.py, _state_append_handler)"
        ),
        rf"(PUT /v[23]/configurations/.*|(GET /v[23]|DELETE /v2)/sessions) → 500: {_LOOKED_FOR}": (
            "so are the `layers` (controllers/configurations.py, iter_layers); and only the deleting of v3 answers for "
            "an age that is none (controllers/sessions.py, ParsingException)"
        ),
    },
    "ims": {
        r"POST (/v[23])?/images → 500: .*Internal Server Error.*": (
            "a link to what is no manifest is not caught (v2/resources/images.py)"
        ),
    },
}
