"""The ConfigMap ``cray-product-catalog``: which products are installed, with their content in VCS and IMS."""

from __future__ import annotations

import yaml

from csm_emulator.context import Context
from csm_emulator.seed_data.images import images, recipes
from csm_emulator.seed_data.repositories import DAY, FIRST_DAY, ORGANIZATION, PRODUCTS, Product, commit_of
from csm_emulator.services.kubernetes.kinds.kinds import Json
from csm_emulator.state.clock import rfc3339

VCS = "https://api-gw-service-nmn.local/vcs"
SSH = "git@api-gw-service-nmn.local"
_UAN = "uan-"


def catalog(context: Context) -> dict[str, str]:
    """One key for each product, YAML below it."""
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
    """CSM brings the images of the first day, but for those of application nodes, which USS brings."""
    if product.name not in ("csm", "uss"):
        return {}
    topology, random = context.machine.topology, context.random
    of_uss = product.name == "uss"
    told = {one.name: {"id": one.id} for one in images(topology, random) if one.name.startswith(_UAN) == of_uss}
    made_of = {} if of_uss else {one.name: {"id": one.id} for one in recipes(topology, random)}
    return {name: found for name, found in (("images", told), ("recipes", made_of)) if found}


def _yaml(value: Json) -> str:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False))
