"""All endpoints of IMS; v2 is also served without a prefix, as in the real service."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.connexion import answering
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.services.ims.images.api import Images
from csm_emulator.services.ims.images.artifacts import Artifacts, S3WithMetadata
from csm_emulator.services.ims.images.deleted import DeletedImages
from csm_emulator.services.ims.jobs.api import Jobs
from csm_emulator.services.ims.jobs.pod_steps import JobPods
from csm_emulator.services.ims.public_keys import PublicKeys
from csm_emulator.services.ims.recipes.api import Recipes
from csm_emulator.services.ims.recipes.deleted import DeletedRecipes
from csm_emulator.services.ims.remote_build_nodes import RemoteNodes
from csm_emulator.services.ims.responses import method_not_allowed, page_not_found, restful_json
from csm_emulator.services.ims.seed_data import seed_images, seed_recipes
from csm_emulator.services.ims.tables import Tables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Route

_VERSION = "3.25.0"


def create_service(context: Context) -> EmulatedService:
    topology = context.machine.topology
    seeds = seed_images(topology, context.random), seed_recipes(topology, context.random)
    tables = Tables(context.tables, context.clock, context.random, *seeds)
    bucket = S3WithMetadata(context.mesh, s3_keys(context.random))
    artifacts = Artifacts(bucket)
    nodes = RemoteNodes(tables, context.machine)
    jobs = Jobs(tables, artifacts, nodes, JobPods(context, bucket), context.clock)
    images, recipes, keys = Images(tables, artifacts), Recipes(tables, artifacts), PublicKeys(tables)
    routes = [
        Route("GET", "/version", lambda _: restful_json({"version": _VERSION}, 200)),
        Route("GET", "/healthz/ready", _healthy),
        Route("GET", "/healthz/live", _healthy),
        *nodes.routes(),
        *images.v3_routes(),
        *DeletedImages(tables, artifacts).routes(),
        *recipes.common_routes("/v3"),
        *DeletedRecipes(tables, artifacts).routes(),
        *keys.v3_routes(),
        *jobs.routes("/v3"),
    ]
    for prefix in ("", "/v2"):
        for resource in (images, recipes, keys, jobs):
            routes += resource.routes(prefix)
    return EmulatedService(
        "ims",
        [("/apis/ims", "")],
        [route.through(answering) for route in routes],
        not_found=page_not_found,
        wrong_method=method_not_allowed,
        restarted=tables.restarted,
    )


def _healthy(_: Call) -> Reply:
    return restful_json({}, 200)
