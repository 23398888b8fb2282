"""The API server: authenticates a request, checks rights, and passes it to its handler."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.auth.identity import Identity, is_true, verb
from csm_emulator.services.kubernetes.auth.reviews import review
from csm_emulator.services.kubernetes.auth.token_reviews import review_token
from csm_emulator.services.kubernetes.containers.exec import ExecHandler
from csm_emulator.services.kubernetes.containers.logs import Logs
from csm_emulator.services.kubernetes.containers.shell import ContainerShell
from csm_emulator.services.kubernetes.controllers.core_controllers import CoreControllers
from csm_emulator.services.kubernetes.controllers.cron_jobs import CronJobs
from csm_emulator.services.kubernetes.controllers.hierarchical_namespaces import HierarchyController
from csm_emulator.services.kubernetes.controllers.jobs import Jobs
from csm_emulator.services.kubernetes.controllers.nodes import NodeController
from csm_emulator.services.kubernetes.controllers.pod_events import PodEventRecorder
from csm_emulator.services.kubernetes.controllers.workloads import Workloads
from csm_emulator.services.kubernetes.kinds.kinds import EVENTS, JOBS, PODS
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.services.kubernetes.pods.pods import Pods
from csm_emulator.services.kubernetes.reads.discovery import Discovery
from csm_emulator.services.kubernetes.reads.openapi import OpenApi
from csm_emulator.services.kubernetes.reads.read import ObjectReader
from csm_emulator.services.kubernetes.reads.watch import WatchHandler
from csm_emulator.services.kubernetes.requests import Request, parse
from csm_emulator.services.kubernetes.seed_data.objects import seeds
from csm_emulator.services.kubernetes.statuses import (
    StatusError,
    bad_request,
    method_not_allowed,
    page_not_found,
    too_large,
)
from csm_emulator.services.kubernetes.storage.events import Events
from csm_emulator.services.kubernetes.storage.object_store import ObjectStore
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes import scale as scaling
from csm_emulator.services.kubernetes.writes.admission import Admission
from csm_emulator.services.kubernetes.writes.delete import ObjectDeleter
from csm_emulator.services.kubernetes.writes.write import ObjectWriter
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import EmulatedService, Route

BODY = 3 << 20
"""Bytes: the same limit as the real API server's."""
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
        store = ObjectStore(context, seeds(context))
        registry = Registry(store)
        self._registry = registry
        self._objects = Objects(context, store, registry)
        pods, jobs = Pods(context, store), Jobs(context, store)
        self._objects.special |= {
            PODS.storage_key: pods,
            JOBS.storage_key: jobs,
            EVENTS.storage_key: Events(context, store),
        }
        admission = Admission(context, store)
        self._deleter = ObjectDeleter(self._objects, admission)
        self._objects.listeners.append(self._deleter.collect_dependents)
        CoreControllers(self._objects, self._deleter)
        HierarchyController(self._objects, self._deleter)
        NodeController(self._objects)
        self._objects.refresh = CronJobs(self._objects, jobs).catch_up
        workloads = Workloads(self._objects, pods)
        self._identity = Identity(store)
        self._discovery, self._openapi = Discovery(registry), OpenApi(registry)
        self._reader, self._watch_handler = ObjectReader(self._objects), WatchHandler(self._objects)
        self._writer = ObjectWriter(self._objects, admission)
        self._logs, self._exec_handler = Logs(context), ExecHandler(context, ContainerShell(context).run)
        workloads.begin(first_day=store.first_day())
        PodEventRecorder(self._objects, pods)

    def answer(self, call: Call) -> Reply:
        try:
            return self._answer(call)
        except StatusError as refused:
            return refused.reply()
        except RecursionError:
            return bad_request("json: exceeded max depth").reply()

    def _answer(self, call: Call) -> Reply:
        public = self._discovery.open_to_all(call)
        if public is not None:
            return public
        user = self._identity.user_of(call)
        request = parse(call, user, self._registry)
        if request is not None:
            self._identity.check(request)
            self._objects.refresh()
            return self._carry_out(request)
        self._identity.check_path(user, call)
        review_reply = review(call, has_all_rights=self._identity.has_all_rights(user), user=user)
        if review_reply is None and self._identity.has_all_rights(user):
            review_reply = review_token(call, self._identity)
        if review_reply is not None:
            return review_reply
        return self._discovery.answer(call) or self._openapi.answer(call) or page_not_found()

    def _carry_out(self, request: Request) -> Reply:
        if request.subresource == "scale":
            return json_reply(scaling.answer(self._objects, request))
        if request.subresource in ("log", "exec", "attach", "eviction"):
            return self._pod_subresource(request)
        if request.call.method in ("GET", "HEAD"):
            return self._read(request)
        return self._write(request)

    def _pod_subresource(self, request: Request) -> Reply:
        method = request.call.method
        if request.subresource == "log" and method == "GET":
            return self._logs.read(request)
        if request.subresource in ("exec", "attach") and method in ("GET", "POST"):
            return self._exec_handler.answer(request)
        if request.subresource == "eviction" and method == "POST":
            self._deleter.evict(request)
            return json_reply({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, 201)
        raise method_not_allowed()

    def _read(self, request: Request) -> Reply:
        if is_true(request.call.first("watch")):
            return self._watch_handler.watch(request)
        return json_reply(self._reader.get(request) if request.name else self._reader.list(request))

    def _write(self, request: Request) -> Reply:
        verb_name = verb(request)
        if verb_name == "create" and not request.name and (request.namespace or not request.kind.namespaced):
            return json_reply(self._formatted(request, self._writer.create(request)), 201)
        if verb_name == "update" and request.name:
            return json_reply(self._formatted(request, self._writer.replace(request)))
        if verb_name == "patch" and request.name:
            exists = self._objects.get(request.kind, request.namespace, request.name) is not None
            return json_reply(self._formatted(request, self._writer.patch(request)), 200 if exists else 201)
        if verb_name == "delete" and not request.subresource:
            return json_reply(self._deleted(request, self._deleter.delete(request)))
        if verb_name == "deletecollection" and (request.namespace or not request.kind.namespaced):
            deleted = self._deleter.delete_collection(request)
            meta = {"resourceVersion": str(self._objects.store.version)}
            kind = request.kind
            return json_reply(
                {"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": meta, "items": deleted}
            )
        raise method_not_allowed()

    def _formatted(self, request: Request, value: Json) -> Json:
        return self._reader.in_requested_form(request.kind, value, request.call)

    def _deleted(self, request: Request, value: Json) -> Json:
        return value if value["kind"] == "Status" else self._formatted(request, value)
