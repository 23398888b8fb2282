"""Where the real services differ from HPE's files: the emulator follows the services.

By service: patterns over ``<operation> → <status>: <what>``, and the behaviour of the real service, with the source
file that shows it. A row that matches no reply any more fails the suite.
"""

from __future__ import annotations

from collections.abc import Mapping

from conformance import spec_bugs_fabric, spec_bugs_software
from conformance.violation_patterns import NULL as _NULL
from conformance.violation_patterns import PROBLEM as _PROBLEM
from conformance.violation_patterns import SCHEMA as _SCHEMA
from conformance.violation_patterns import STATUS as _STATUS
from conformance.violation_patterns import TEXT as _TEXT
from conformance.violation_patterns import more as _more

KNOWN: Mapping[str, Mapping[str, str]] = {
    "smd": {
        rf".* → 200: {_SCHEMA}/code: int is of the wrong type": (
            "`code` is a number; the file says a string (cmd/smd/response.go)"
        ),
        r"GET /service/liveness → 204: Missing Content-Type header.*": (
            "a 204 has no body, and so no Content-Type; the file gives every reply one (cmd/smd/smd-api.go)"
        ),
        rf"GET /service/values(/\w+)? → 200: {_SCHEMA}/(Type|Arch|Flag)/\*: .* is not in the enum": (
            "all words of the library are listed, also `All`, `UNKNOWN` and `Unknown`, which the file's enums "
            "leave out (hms-xname, hms-base/hmstypes.go)"
        ),
        r"(PATCH /State/Components/\{xname\}/(Role|NID)|POST /Inventory/RedfishEndpoints) → 204: JSON deserial.*": (
            "a 204 without a body where the file promises one (cmd/smd/smd-api.go)"
        ),
        rf"POST /locks/(service/)?reservations(/\w+)? → 200: {_STATUS}200": (
            "what was done and what was not is told with 200, where the file has 201 and 204 (cmd/smd/smd-api.go)"
        ),
        rf'POST /locks/(lock|unlock|repair|disable) → 200: {_SCHEMA}/: "code" is a required property': (
            "the counts and lists of the other lock operations come back, not `code` and `message` (cmd/smd/smd-api.go)"
        ),
        rf"GET /Inventory/Hardware(ByFRU)? → 200: {_SCHEMA}/.*: '(HWInvBy(FRU|Loc))?NodeHsnNic' is not in the enum": (
            "high-speed NICs are in the inventory; the enums of the file are older (pkg/sm/hwinv.go)"
        ),
        rf"GET /Inventory/Hardware(ByFRU)?/History.* → 200: {_SCHEMA}/.*/EventType: 'Detected' is not in the enum": (
            "the first event of a part is `Detected`, which the enum leaves out (pkg/sm/hwinvhist.go)"
        ),
        rf"GET /Inventory/Hardware(ByFRU)?/History → 200: {_SCHEMA}/Components: {_NULL}": (
            "no history is `null`, as Go writes a list that was never made (pkg/sm/hwinvhist.go)"
        ),
        rf"\w+ /Inventory/RedfishEndpoints.* → 200: {_SCHEMA}.*/MACAddr: pattern": (
            "what hms-discovery puts in has no colons, as HPE's manual shows; the pattern wants them"
        ),
        rf"GET /Inventory/ComponentEndpoints.* → 200: {_SCHEMA}.*/Redfish(Subt|T)ype: '\w+' is not in the enum": (
            "PDUs and their outlets are endpoints too; the enums of the file are older"
        ),
        rf"\w+ /Subscriptions/SCN(/\{{id\}})? → (400|500): {_PROBLEM}": (
            "errors are application/problem+json everywhere; the file has application/json here (cmd/smd/response.go)"
        ),
        rf"\w+ /Subscriptions/SCN(/\{{id\}})? → \d+: {_SCHEMA}.*/?ID: int is of the wrong type": (
            "the number of a subscription is a number; the file says a string (pkg/sm/subscriptions.go)"
        ),
        rf"GET /(groups|partitions).* → 200: {_SCHEMA}.*/(label|name): pattern": (
            "labels may have all lower-case letters; the pattern stops at `f` (pkg/sm/groups.go)"
        ),
        r"PATCH /(groups|partitions)/\{\w+\} → 400: JSON deserialization error.*": (
            "after the refusal of an empty patch the handler goes on: two problems follow one another in the body "
            "(cmd/smd/smd-api.go, doGroupPatch, doPartitionPatch)"
        ),
        rf'PUT /sysinfo/powermaps/\{{xname\}} → 200: {_SCHEMA}/: "code" is a required property': (
            "the stored map comes back, not `code` and `message` (cmd/smd/smd-api.go)"
        ),
        rf"POST .* → 20[01]: {_SCHEMA}/(\*)?: {_more('URI')}": (
            "the address of what was made is `URI`; the file calls it `ResourceURI` (cmd/smd/response.go)"
        ),
        rf"\w+ /locks/status → 200: {_SCHEMA}/Components/\*: {_more('CreationTime')}": (
            "when a reservation was made is `CreationTime`; the file calls it otherwise (pkg/sm/complocks.go)"
        ),
        rf"GET /Inventory/Hardware/Query/.* → 200: {_SCHEMA}.*: {_more('HostName|Location|NodeBMCs|RouterBMCs')}": (
            "hardware has more places and facts than the file knows (pkg/sm/hwinv.go)"
        ),
        rf"\w+ /Inventory/RedfishEndpoints.* → 200: {_SCHEMA}.*/DiscoveryInfo: {_more('LastDiscovery.*')}": (
            "the fields are `LastDiscoveryAttempt` and `LastDiscoveryStatus`, as HPE's manual shows; the file has "
            "`LastAttempt` and `LastStatus` (pkg/redfish/rfendpoints.go)"
        ),
        rf"\w+ /Inventory/RedfishEndpoints.* → 200: {_SCHEMA}.*: {_more('MACRequired')}": (
            "the field is `MACRequired`; the file has `MacRequired` (pkg/redfish/rfendpoints.go)"
        ),
        rf"GET /Inventory/ServiceEndpoints.* → 200: {_SCHEMA}.*/ServiceInfo: {_more('[@.a-zA-Z]+')}": (
            "what Redfish says of a service is kept whole (pkg/redfish/rfendpoints.go)"
        ),
        rf"GET /Subscriptions/SCN/\{{id\}} → 200: {_SCHEMA}/: {_more('ID')}": (
            "a subscription has its number in it (pkg/sm/subscriptions.go)"
        ),
        rf"PUT /sysinfo/powermaps/\{{xname\}} → 200: {_SCHEMA}/: {_more('id|poweredBy')}": (
            "the stored map comes back, not `code` and `message` (cmd/smd/smd-api.go)"
        ),
    },
    "sls": {
        rf"GET /health → 200: {_TEXT}": "the Content-Type is set after the body was begun (cmd/sls/sls_misc.go)",
        rf".* → 20[01]: {_SCHEMA}.*/?Type: pattern": (
            "types are SLS's own words, `comptype_node`; the pattern has those of `TypeString` (pkg/sls-common)"
        ),
        rf"PUT /hardware/\{{xname\}} → 20[01]: {_SCHEMA}/Parent: pattern": (
            "what has no parent has an empty one (cmd/sls/sls_hardware.go)"
        ),
        rf".* → 20[01]: {_SCHEMA}.*/ExtraProperties: oneOf": (
            "the shapes in the file overlap, so that a lawful value fits more than one"
        ),
        rf'POST /hardware → 201: {_SCHEMA}/: "Xname" is a required property': (
            "`code` and `message` come back, not the stored object (cmd/sls/sls_hardware.go)"
        ),
        rf"GET /hardware/\{{xname\}} → 404: {_STATUS}404": "a name that is not there is 404 (cmd/sls/sls_hardware.go)",
        rf"(GET|DELETE) /hardware/\{{xname\}} → 400: {_STATUS}400": "what is no name is 400 (cmd/sls/sls_hardware.go)",
        rf"GET /search/hardware → 200: {_SCHEMA}/: {_NULL}": (
            "nothing found is `null`, as Go writes a list that was never made (cmd/sls/sls_hardware.go)"
        ),
        rf"GET /search/networks → 500: {_STATUS}500": (
            "a search without a filter fails in the database code, as 500 (internal/database/network.go)"
        ),
        rf".* → 200: {_SCHEMA}.*/ExtraProperties/VlanRange: {_NULL}": (
            "networks of load balancers have no VLAN, and the installer (cray-site-init) writes `null`"
        ),
        rf"GET /version → 200: {_SCHEMA}/: {_more('Counter|LastUpdated')}": (
            "the version is `Counter` and `LastUpdated` (cmd/sls/sls_misc.go)"
        ),
        rf"POST /hardware → 201: {_SCHEMA}/: {_more('code|message')}": (
            "`code` and `message` come back, not the stored object (cmd/sls/sls_hardware.go)"
        ),
        rf"GET /.* → 200: {_SCHEMA}.*/ExtraProperties(/Subnets/\*)?: {_more('SystemDefaultRoute|MetalLBPoolName')}": (
            "networks are kept as the installer (cray-site-init) writes them"
        ),
    },
    "bss": {
        rf".* → (400|404|500): {_PROBLEM}": (
            "errors are application/problem+json; the file has application/json (hms-base)"
        ),
        rf"GET /(meta-data|boot/v1/service/.*) → 200: {_TEXT}": (
            "no Content-Type is set, so Go makes text/plain of it (cmd/boot-script-service)"
        ),
        rf".* → 200: {_SCHEMA}.*/cloud-init/(user|meta)-data: {_NULL}": (
            "data that was never given is `null` (pkg/bssTypes/types.go)"
        ),
        rf"GET /boot/v1/hosts → (400|404): {_STATUS}.*": (
            "an unknown host is 404, a NID that is no number 400 (cmd/boot-script-service/default_api.go)"
        ),
        rf"GET /boot/v1/endpoint-history → 500: {_STATUS}500": (
            "an endpoint without a name cannot be looked for (cmd/boot-script-service/cloudInitAPI.go)"
        ),
        rf"GET /boot/v1/hosts → 200: {_SCHEMA}/\*: {_more('SubRole')}": (
            "hosts are components of HSM, which have a sub-role (cmd/boot-script-service/sm.go)"
        ),
        rf"GET /boot/v1/dumpstate → 200: {_SCHEMA}/: {_more('Components|Params')}": (
            "the names have capitals (pkg/bssTypes/types.go)"
        ),
    },
    "pcs": {
        rf".* → (400|404): {_PROBLEM}": (
            "errors are application/problem+json; the file has application/json (internal/api)"
        ),
        rf"GET /transitions/\{{transitionID\}} → 404: {_STATUS}404": (
            "an unknown transition is 404 (internal/domain/transitions.go)"
        ),
        rf"GET /power-cap/\{{taskID\}} → 400: {_STATUS}400": "what is no UUID is 400 (internal/api/power-cap.go)",
        rf"\w+ /power-status → 200: {_SCHEMA}/status/\*/xname: pattern": (
            "outlets of PDUs have power too; the pattern knows no `v` (internal/domain/power-status.go)"
        ),
        rf"\w+ /power-status → 200: {_SCHEMA}/status/\*/(lastUpdated|(power|management)State|supported.*): .*": (
            "for what cannot have power the fields are empty and only `error` is said (internal/domain/power-status.go)"
        ),
        rf"GET /power-cap/\{{taskID\}} → 200: {_SCHEMA}/components/\*/powerCapLimits/\*/name: .* is not in the enum": (
            "the name is the controller's own, `Node Power Limit` on HPE's (internal/domain/power-cap.go)"
        ),
    },
    "capmc": {
        rf"POST /\w+ → 400: {_STATUS}400": "what cannot be read is 400 with `e` and `err_msg` (cmd/capmcd/nodecap.go)",
        rf'POST /get_power_cap_capabilities → 200: {_SCHEMA}/: "groups" is a required property': (
            "`groups` is left out when there are none (internal/capmc/capmc.go: omitempty)"
        ),
        rf"GET /health → 200: {_TEXT}": "the Content-Type is set after the body was begun (cmd/capmcd/health.go)",
        r"GET /(liveness|readiness) → 204: Missing Content-Type header.*": "a 204 has no body, and so no Content-Type",
        rf"POST /get_xname_status → 200: {_SCHEMA}/: {_more('undefined')}": (
            "what has no known state is under `undefined` (internal/capmc/capmc.go)"
        ),
        rf"POST /get_power_cap_capabilities → 200: {_SCHEMA}/: {_more('nids')}": (
            "NIDs that are refused are listed (internal/capmc/capmc.go)"
        ),
        rf"POST /xname_\w+ → 400: {_SCHEMA}/: {_more('xnames')}": (
            "the names that are refused are listed (internal/capmc/capmc.go)"
        ),
    },
    "hbtd": {
        r"POST /heartbeat(/\{xname\})? → 200: (JSON deserialization error|Missing Content-Type header).*": (
            "a heartbeat is answered by an empty 200 (cmd/hbtd/track.go)"
        ),
        rf"POST /hbstates → 200: {_SCHEMA}/HBStates: {_NULL}": (
            "no names, no list: `null`, as Go writes a list that was never made (cmd/hbtd/track.go)"
        ),
        rf".* → 400: {_SCHEMA}/status: int is of the wrong type": (
            "`status` is a number; the file says a string (hms-base)"
        ),
        rf"GET /health → 200: {_TEXT}": "the Content-Type is set after the body was begun (cmd/hbtd/health.go)",
    },
    "scsd": {
        rf"(GET|POST) /bmc/.* → 500: {_STATUS}500": (
            "bodies that cannot be read and targets that are none are 500 (cmd/scsd/bmccfg.go, creds.go, certs.go)"
        ),
        rf"(GET|POST) /bmc/.* → 400: {_STATUS}400": "missing fields are 400 (cmd/scsd/bmccfg.go, creds.go, certs.go)",
        rf"POST /bmc/creds/\{{xname\}} → 422: {_STATUS}422": "a target in a bad state is 422 (cmd/scsd/creds.go)",
        rf"\w+ /bmc/(dumpcfg|cfg/\{{xname\}}) → 200: {_SCHEMA}.*/(NTP|Syslog)Servers: list is of the wrong type": (
            "servers are a list; the file says a string (cmd/scsd/bmccfg.go)"
        ),
        rf"GET /bmc/creds → 200: {_SCHEMA}/: dict is of the wrong type": (
            "the list stands under `Targets` (cmd/scsd/creds.go)"
        ),
        rf"GET /readiness → 204: {_STATUS}204": "ready is 204; the file has 200 (cmd/scsd/health.go)",
        rf"\w+ /bmc/bios/\{{xname\}}/\{{bios_field\}} → 404: {_TEXT}": (
            "only `tpmstate` has a route; for any other field Go's own 404 answers (cmd/scsd/api.go)"
        ),
        rf"\w+ /bmc/(dumpcfg|cfg/\{{xname\}}) → 200: {_SCHEMA}.*/SyslogServerInfo: {_more('Transport')}": (
            "how logs are sent is told too (cmd/scsd/bmccfg.go)"
        ),
        rf"POST /bmc/fetchcerts → 200: {_SCHEMA}/DomainIDs/\*/Cert: {_more('FQDN')}": (
            "a certificate has the name it is for (cmd/scsd/tls.go)"
        ),
    },
    "fas": {
        rf".* → (400|404|409|429): {_PROBLEM}": (
            "errors are application/problem+json; the file has application/json (internal/api)"
        ),
        rf".* → (400|404): {_STATUS}.*": (
            "what is no UUID is 400, what is not there is 404; the file forgets them in places (internal/api)"
        ),
        rf"POST /actions → 202: {_STATUS}202": (
            "an action is accepted with 202; the file has 200 (internal/domain/actions.go)"
        ),
        rf"GET /.* → 200: {_SCHEMA}.*/(start|end|capture)Time: format": (
            "times are written as Go prints them, `2027-01-15 08:00:10 +0000 UTC` (internal/presentation)"
        ),
        rf"GET /actions/\{{actionID\}} → 200: {_SCHEMA}/operationSummary/\w+: dict is of the wrong type": (
            "each kind is an object with its operations; the file says a list (internal/presentation/actions.go)"
        ),
        rf'GET /images(/\{{imageID\}})? → 200: {_SCHEMA}.*: "type" is a required property': (
            "an image has no `type` (internal/presentation/images.go)"
        ),
        rf"GET /loader → 200: {_SCHEMA}/loaderRunList/\*: dict is of the wrong type": (
            "runs are objects with a `loaderRunID`; the file says strings (internal/presentation/loader.go)"
        ),
        rf"GET /.* → 200: {_SCHEMA}.*: {_more('succeeded|command|operationDetails')}": (
            "actions tell their command and what succeeded (internal/presentation/actions.go)"
        ),
        rf"GET /.*operations/\{{operationID\}} → 200: {_SCHEMA}/: {_more('[a-zA-Z]+')}": (
            "operations tell more than the file knows (internal/presentation/actions.go)"
        ),
        rf"GET /service/status/details → 200: {_SCHEMA}/: {_more('hsmStatus')}": (
            "the state of HSM is told too (internal/api/service.go)"
        ),
        rf"GET /snapshots/\{{snapshotName\}} → 200: {_SCHEMA}/devices/.*: {_more('softwareId|targetName')}": (
            "targets have a name of their own (internal/presentation/snapshots.go)"
        ),
    },
    **spec_bugs_software.KNOWN,
    **spec_bugs_fabric.KNOWN,
}

SERVER_ERRORS: Mapping[str, Mapping[str, str]] = {
    "smd": {
        r".* → 500: .*error decoding JSON .*": "a body that cannot be decoded is 500 (cmd/smd/smd-api.go)",
        r"GET /(Inventory|locks)/.* → 500: .*(failed to query DB|failed during query).*": (
            "PostgreSQL refuses what a filter says, such as a time that is none (internal/hmsds)"
        ),
        r"DELETE /Inventory/HardwareByFRU.* → 500: .*(DB query failed|failed to query DB).*": (
            "PostgreSQL keeps a FRU that is in a place (a foreign key of the table hwinv_by_loc)"
        ),
        r"POST /locks/.* → 500: .*operation 'POST' failed during store.*": (
            "a filter by group or partition fails in the database (internal/hmsds)"
        ),
        r"PATCH /Inventory/RedfishEndpoints/.* → 500: .*operation 'PATCH' failed during store.*": (
            "a value that PostgreSQL refuses (cmd/smd/smd-api.go)"
        ),
        r"POST /Inventory/EthernetInterfaces/.*/IPAddresses → 500: .*operation 'POST' failed during store.*": (
            "an interface that is not there is a failure of the database (cmd/smd/smd-api.go)"
        ),
        r"PATCH /Inventory/EthernetInterfaces/.*/IPAddresses/.* → 500: .*runtime error.*": (
            "without `Network` SMD crashes after it has forgotten all addresses: the caller gets no answer, which the "
            "emulator can say only as 500 (internal/hmsds/hmsds-postgres.go)"
        ),
    },
    "sls": {
        r"GET /search/networks → 500: .*Failed to search network from DB.*": (
            "a search without a filter, or for what is no address (internal/database/network.go)"
        ),
        r"(PUT|POST) /hardware.* → 500: .*(DB update failed|error inserting object into DB).*": (
            "some types, such as storage groups, have names but no word of SLS's own (pkg/sls-common)"
        ),
    },
    "bss": {
        r"GET /boot/v1/endpoint-history → 500: .*Failed to search for name.*": (
            "an endpoint without a name cannot be looked for (cmd/boot-script-service/cloudInitAPI.go)"
        ),
    },
    "capmc": {
        r"POST /set_power_cap → 500: .*Hardware State Manager error.*": (
            "HSM refuses a NID, and CAPMC hands that on as its own failure (cmd/capmcd/nodecap.go)"
        ),
    },
    "scsd": {
        r"POST .* → 500: .*(unmarshalling request|getting re(quest|sponse) data).*": (
            "a body that cannot be read is 500 (cmd/scsd/bmccfg.go, creds.go, certs.go)"
        ),
        r".* /bmc/(cfg|dumpcfg|loadcfg).* → 500: .*No valid targets.*": "no target is left (cmd/scsd/bmccfg.go)",
        r"POST /bmc/.*creds.* → 500: .*Problem retrieving user accounts.*": (
            "no account of that name, or no answer from the controller (cmd/scsd/creds.go)"
        ),
        r"GET /bmc/creds → 500: .*Invalid Xnames.*": "what is no name is 500 (cmd/scsd/creds.go)",
        r"\w+ /bmc/bios/.* → 500: .*Call failed.*": "no such controller answers (cmd/scsd/bios.go)",
        r"POST /bmc/setcert/.* → 500: .*Internal Server Error, URL: .*": (
            "no such controller answers (cmd/scsd/tls.go)"
        ),
    },
    **spec_bugs_software.SERVER_ERRORS,
    **spec_bugs_fabric.SERVER_ERRORS,
}

NOT_SERVED: Mapping[str, Mapping[str, str]] = {
    "ims": {
        r"\w+ /remote-build-nodes.*": "the service has them under /v3 only (src/server/v3/__init__.py)",
    },
}
"""Operations of the files that the services themselves do not have: by service, patterns over method and path."""

_NO_HANDSHAKE = "a request made up from a file is no WebSocket handshake"
NEVER_DONE: Mapping[str, Mapping[str, str]] = {
    "smd": {
        r"DELETE /Inventory/HardwareByFRU": "a FRU that is in a place is kept, and the whole deletion fails with it",
        r"GET /Inventory/RedfishEndpoints/Query/\{xname\}": (
            "the service says that it is not implemented yet (cmd/smd/smd-api.go)"
        ),
    },
    "sls": {r"POST /loadstate": "it takes a whole dump in a form; the read-back has one"},
    "scsd": {r"POST /bmc/setcert/\{xname\}": "none was made before for the controllers of the machine"},
    "fas": {r"POST /loader": "it takes a package of firmware"},
    "ims": {r"\w+ /remote-build-nodes.*": "the service does not have them; see above"},
    "console-operator": {r"GET /console-operator/(interact|tail)/\{nodeXname\}": _NO_HANDSHAKE},
}
"""Operations that no request of the examination succeeds at: patterns over method and path, as in the file, and why."""
