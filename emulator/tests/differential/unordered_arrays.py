"""Arrays whose order the real services leave open: SQL without ORDER BY, and Go's maps."""

from __future__ import annotations

import re

from differential.sequence import Step

# (service and path of the request, places in the body)
UNORDERED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"smd:/hsm/v2/State/Components.*", ("body/Components",)),
    (r"smd:/hsm/v2/locks/.*", ("body/(Components|NotFound|Success|Failure)", "body/Success/ComponentIDs")),
    (r"smd:/hsm/v2/(groups|partitions).*", ("body", "body.*/ids")),
    (r"smd:/hsm/v2/memberships.*", ("body", "body/(.*/)?groupLabels")),
    (r"smd:/hsm/v2/Inventory/.*", ("body", "body/[A-Za-z]+")),
    (r"smd:/hsm/v2/Defaults/NodeMaps.*", ("body/NodeMaps",)),
    (r"smd:/hsm/v2/sysinfo/powermaps.*", ("body",)),
    (r"smd:/hsm/v2/service/values.*", ("body/[A-Za-z]+",)),
    (r"smd:/hsm/v2/Subscriptions/SCN.*", ("body/SubscriptionList",)),
    (r"sls:/v1/(search/)?(hardware|networks).*", ("body",)),
    (r"bss:/boot/v1/(bootparameters|hosts|endpoint-history).*", ("body",)),
    (r"bss:/boot/v1/dumpstate.*", ("body/Components", "body/Params")),
)


def unordered_arrays(step: Step) -> tuple[str, ...]:
    """Patterns of the places in the reply whose order does not count."""
    target = f"{step.service}:{step.path}"
    return tuple(place for pattern, places in UNORDERED if re.fullmatch(pattern, target) for place in places)
