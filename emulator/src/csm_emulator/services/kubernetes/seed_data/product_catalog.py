"""The ConfigMap ``cray-product-catalog``: the installed products, with their content in VCS and IMS."""

from __future__ import annotations

import yaml

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.seed_data.images import images, recipes
from csm_emulator.seed_data.repositories import DAY, FIRST_DAY, ORGANIZATION, PRODUCTS, Product, commit_of
from csm_emulator.state.clock import rfc3339

VCS = "https://api-gw-service-nmn.local/vcs"
SSH = "git@api-gw-service-nmn.local"
_UAN = "uan-"


def catalog(context: Context) -> dict[str, str]:
    """One key for each product; its value is YAML."""
    return {product.name: _yaml({product.version: _version(context, product)}) for product in PRODUCTS}


def _version(context: Context, product: Product) -> Json:
    moment = FIRST_DAY + (30 * DAY if product.earlier else 0)
    path = f"{ORGANIZATION}/{product.repository}.git"
    configuration = {
        "clone_url": f"{VCS}/{path}",
        "commit": commit_of(product.repository, product.import_branch),
        "import_branch": product.import_branch,
        "import_date": rfc3339(moment, 0).replace("T", " ").removesuffix("Z"),
        "ssh_url": f"{SSH}:{path}",
    }
    return {"active": True, "configuration": configuration, **_images(context, product)}


def _images(context: Context, product: Product) -> Json:
    """CSM provides the images of the first day, except those of application nodes, which USS provides."""
    if product.name not in ("csm", "uss"):
        return {}
    topology, random = context.machine.topology, context.random
    of_uss = product.name == "uss"
    image_ids = {
        image.name: {"id": image.id} for image in images(topology, random) if image.name.startswith(_UAN) == of_uss
    }
    recipe_ids = {} if of_uss else {image.name: {"id": image.id} for image in recipes(topology, random)}
    return {name: ids for name, ids in (("images", image_ids), ("recipes", recipe_ids)) if ids}


def _yaml(value: Json) -> str:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False))
