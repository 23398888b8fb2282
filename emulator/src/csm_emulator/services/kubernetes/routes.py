"""The API server: who asks, what about, and who answers."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.services.kubernetes.auth.identity import Identity, is_true, verb
from csm_emulator.services.kubernetes.auth.reviews import review
from csm_emulator.services.kubernetes.auth.token_reviews import review_token
from csm_emulator.services.kubernetes.containers.exec import Executing
from csm_emulator.services.kubernetes.containers.logs import Logs
from csm_emulator.services.kubernetes.containers.shell import ContainerShell
from csm_emulator.services.kubernetes.controllers.controllers import Controllers
from csm_emulator.services.kubernetes.controllers.cron_jobs import CronJobs
from csm_emulator.services.kubernetes.controllers.hierarchical_namespaces import Hierarchy
from csm_emulator.services.kubernetes.controllers.jobs import Jobs
from csm_emulator.services.kubernetes.controllers.nodes import NodeWatch
from csm_emulator.services.kubernetes.controllers.pod_events import Happenings
from csm_emulator.services.kubernetes.controllers.workloads import Workloads
from csm_emulator.services.kubernetes.kinds.kinds import EVENTS, JOBS, PODS, Json
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.services.kubernetes.pods.pods import Pods
from csm_emulator.services.kubernetes.reads.discovery import Discovery
from csm_emulator.services.kubernetes.reads.openapi import OpenApi
from csm_emulator.services.kubernetes.reads.read import Reading
from csm_emulator.services.kubernetes.reads.watch import Watching
from csm_emulator.services.kubernetes.requests import Request, parse
from csm_emulator.services.kubernetes.seed_data.objects import seeds
from csm_emulator.services.kubernetes.statuses import Refused, bad_request, no_page, too_large, wrong_method
from csm_emulator.services.kubernetes.storage.events import Events
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.storage.table import Store
from csm_emulator.services.kubernetes.writes import scale as scaling
from csm_emulator.services.kubernetes.writes.admission import Admission
from csm_emulator.services.kubernetes.writes.delete import Deleting
from csm_emulator.services.kubernetes.writes.write import Writing
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import EmulatedService, Route

BODY = 3 << 20
"""As the API server's own limit."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def create_service(context: Context) -> EmulatedService:
    server = ApiServer(context)
    routes = [Route(method, path, server.answer) for method in METHODS for path in ("/", "/{path...}")]
    return EmulatedService(
        "kubernetes",
        (),
        routes,
        server.answer,
        body_limit=BODY,
        has_own_listener=True,
        too_large=too_large(BODY).reply(),
    )


class ApiServer:
    def __init__(self, context: Context) -> None:
        store = Store(context, seeds(context))
        registry = Registry(store)
        self._registry = registry
        self._objects = Objects(context, store, registry)
        pods, jobs = Pods(context, store), Jobs(context, store)
        self._objects.special |= {
            PODS.place: pods,
            JOBS.place: jobs,
            EVENTS.place: Events(context, store),
        }
        admission = Admission(context, store)
        self._deleting = Deleting(self._objects, admission)
        self._objects.listeners.append(self._deleting.gone)
        Controllers(self._objects, self._deleting)
        Hierarchy(self._objects, self._deleting)
        NodeWatch(self._objects)
        self._objects.refresh = CronJobs(self._objects, jobs).catch_up
        workloads = Workloads(self._objects, pods)
        self._identity = Identity(store)
        self._discovery, self._openapi = Discovery(registry), OpenApi(registry)
        self._reading, self._watching = Reading(self._objects), Watching(self._objects)
        self._writing = Writing(self._objects, admission)
        self._logs, self._executing = Logs(context), Executing(context, ContainerShell(context).run)
        workloads.begin(first_day=store.first_day())
        Happenings(self._objects, pods)

    def answer(self, call: Call) -> Reply:
        try:
            return self._answer(call)
        except Refused as refused:
            return refused.reply()
        except RecursionError:
            return bad_request("json: exceeded max depth").reply()

    def _answer(self, call: Call) -> Reply:
        public = self._discovery.open_to_all(call)
        if public is not None:
            return public
        user = self._identity.who(call)
        request = parse(call, user, self._registry)
        if request is not None:
            self._identity.check(request)
            self._objects.refresh()
            return self._carry_out(request)
        self._identity.check_path(user, call)
        reviewed = review(call, may_all=self._identity.may_all(user), user=user)
        if reviewed is None and self._identity.may_all(user):
            reviewed = review_token(call, self._identity)
        if reviewed is not None:
            return reviewed
        return self._discovery.answer(call) or self._openapi.answer(call) or no_page()

    def _carry_out(self, request: Request) -> Reply:
        if request.subresource == "scale":
            return json_reply(scaling.answer(self._objects, request))
        if request.subresource in ("log", "exec", "attach", "eviction"):
            return self._in_pod(request)
        if request.call.method in ("GET", "HEAD"):
            return self._read(request)
        return self._write(request)

    def _in_pod(self, request: Request) -> Reply:
        method = request.call.method
        if request.subresource == "log" and method == "GET":
            return self._logs.read(request)
        if request.subresource in ("exec", "attach") and method in ("GET", "POST"):
            return self._executing.answer(request)
        if request.subresource == "eviction" and method == "POST":
            self._deleting.evict(request)
            return json_reply({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, 201)
        raise wrong_method()

    def _read(self, request: Request) -> Reply:
        if is_true(request.call.first("watch")):
            return self._watching.watch(request)
        return json_reply(self._reading.get(request) if request.name else self._reading.list(request))

    def _write(self, request: Request) -> Reply:
        asked = verb(request)
        if asked == "create" and not request.name and (request.namespace or not request.kind.namespaced):
            return json_reply(self._shown(request, self._writing.create(request)), 201)
        if asked == "update" and request.name:
            return json_reply(self._shown(request, self._writing.replace(request)))
        if asked == "patch" and request.name:
            there = self._objects.get(request.kind, request.namespace, request.name) is not None
            return json_reply(self._shown(request, self._writing.patch(request)), 200 if there else 201)
        if asked == "delete" and not request.subresource:
            return json_reply(self._deleted(request, self._deleting.delete(request)))
        if asked == "deletecollection" and (request.namespace or not request.kind.namespaced):
            gone = self._deleting.delete_collection(request)
            meta = {"resourceVersion": str(self._objects.store.version)}
            kind = request.kind
            return json_reply({"kind": kind.lists, "apiVersion": kind.api_version, "metadata": meta, "items": gone})
        raise wrong_method()

    def _shown(self, request: Request, value: Json) -> Json:
        return self._reading.form(request.kind, value, request.call)

    def _deleted(self, request: Request, value: Json) -> Json:
        return value if value["kind"] == "Status" else self._shown(request, value)
