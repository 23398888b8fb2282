"""Bodies that a service accepts, by operation: those generated from HPE's files seldom have every needed field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from conformance import samples_fabric, samples_software
from conformance.seed_records import (
    ACTION,
    BMC,
    HARDWARE,
    IMAGE,
    LOCKED,
    NID_MAP,
    NODE,
    OTHER,
    STORAGE_GROUP,
    SUBSCRIPTION,
)

_RESERVE = {"ComponentIDs": [NODE], "ProcessingModel": "flexible", "ReservationDuration": 5}
_KEYS = [{"ID": OTHER, "Key": "x1000c0s1b0n0:rk:00000000-0000-0000-0000-000000000000"}]
_BOOT = {"hosts": [NODE], "kernel": "s3://boot-images/k", "initrd": "s3://boot-images/i", "params": "console=ttyS0"}
_POWER = {"xnames": [NODE], "reason": "a test", "recursive": False, "force": False}
_CAP = {"components": [{"xname": NODE, "controls": [{"name": "Node Power Limit", "value": 500}]}]}
_ETHERNET = {
    "Description": "a card",
    "MACAddress": "a4:bf:01:00:00:01",
    "ComponentID": NODE,
    "IPAddresses": [{"IPAddress": "10.1.1.1", "Network": "HMN"}],
}
_REDFISH = {"ID": "x1000c0s5b0", "Enabled": True, "RediscoverOnUpdate": False, "User": "root", "Password": "p"}
_CERTS = {"Domain": "Cabinet", "DomainIDs": ["x1000"]}
_NTP = {"NTPServerInfo": {"NTPServers": ["time-hmn"], "Port": 123, "ProtocolEnabled": True}}

# ``{xname}`` stands for the parameter of the path.
Samples = Mapping[str, Sequence[Any]]

SAMPLES: dict[str, Samples] = {
    "smd": {
        "POST /State/Components": [{"Components": [{"ID": NODE, "State": "On"}], "Force": True}],
        "PUT /State/Components/{xname}": [{"Component": {"ID": "{xname}", "State": "Ready", "Role": "Compute"}}],
        "PATCH /State/Components/BulkStateData": [{"ComponentIDs": [NODE], "State": "Ready", "Flag": "OK"}],
        "PATCH /State/Components/{xname}/StateData": [{"State": "Standby", "Force": True}],
        "PATCH /State/Components/BulkFlagOnly": [{"ComponentIDs": [NODE], "Flag": "Warning"}],
        "PATCH /State/Components/BulkEnabled": [{"ComponentIDs": [NODE], "Enabled": False}],
        "PATCH /State/Components/BulkSoftwareStatus": [{"ComponentIDs": [NODE], "SoftwareStatus": "up"}],
        "PATCH /State/Components/BulkRole": [{"ComponentIDs": [NODE], "Role": "Service", "SubRole": "Worker"}],
        "PATCH /State/Components/{xname}/Role": [{"Role": "Application", "SubRole": "UAN"}],
        "PATCH /State/Components/BulkNID": [{"Components": [{"ID": NODE, "NID": 77}]}],
        "POST /State/Components/Query": [{"ComponentIDs": [NODE], "type": ["node"]}, {"ComponentIDs": ["s0"]}],
        "POST /State/Components/ByNID/Query": [{"NIDRanges": ["1000-1003"], "stateonly": True}],
        "POST /locks/reservations": [_RESERVE, {"Group": ["blue"]}],
        "POST /locks/reservations/release": [{"ReservationKeys": _KEYS, "ProcessingModel": "flexible"}],
        "POST /locks/reservations/remove": [{"ComponentIDs": [OTHER], "ProcessingModel": "rigid"}],
        "POST /locks/service/reservations": [_RESERVE],
        "POST /locks/service/reservations/release": [{"ReservationKeys": _KEYS, "ProcessingModel": "flexible"}],
        "POST /locks/service/reservations/renew": [
            {"ReservationKeys": _KEYS, "ProcessingModel": "flexible", "ReservationDuration": 2}
        ],
        "POST /locks/service/reservations/check": [{"DeputyKeys": [{"ID": OTHER, "Key": f"{OTHER}:dk:1"}]}],
        "POST /locks/status": [{"ComponentIDs": [NODE, OTHER]}],
        **{
            f"POST /locks/{verb}": [{"ComponentIDs": [NODE], "ProcessingModel": "rigid"}]
            for verb in ("lock", "repair", "disable")
        },
        "POST /locks/unlock": [{"ComponentIDs": [LOCKED], "ProcessingModel": "flexible"}],
        "POST /Defaults/NodeMaps": [{"NodeMaps": [NID_MAP]}],
        "PUT /Defaults/NodeMaps/{xname}": [{"NID": 4001, "Role": "Service"}],
        "POST /Inventory/Hardware": [{"Hardware": [HARDWARE]}],
        "POST /Inventory/RedfishEndpoints": [{"RedfishEndpoints": [_REDFISH]}, _REDFISH],
        "PUT /Inventory/RedfishEndpoints/{xname}": [{"ID": "{xname}", "Enabled": False}],
        "PATCH /Inventory/RedfishEndpoints/{xname}": [{"Enabled": False, "MACRequired": True}],
        "POST /Inventory/EthernetInterfaces": [_ETHERNET],
        "PATCH /Inventory/EthernetInterfaces/{ethInterfaceID}": [{"Description": "another", "ComponentID": OTHER}],
        "POST /Inventory/EthernetInterfaces/{ethInterfaceID}/IPAddresses": [
            {"IPAddress": "10.9.9.9", "Network": "NMN"}
        ],
        "PATCH /Inventory/EthernetInterfaces/{ethInterfaceID}/IPAddresses/{ipAddress}": [{"Network": "HMN"}],
        "POST /Inventory/Discover": [{"xnames": [BMC], "force": True}],
        "POST /Subscriptions/SCN": [SUBSCRIPTION | {"Subscriber": "t@x3000c0s1b0n0"}],
        "PUT /Subscriptions/SCN/{id}": [SUBSCRIPTION],
        "PATCH /Subscriptions/SCN/{id}": [{"Op": "add", "States": ["Ready"]}],
        "POST /groups": [{"label": "red", "description": "d", "tags": ["t"], "members": {"ids": [NODE]}}],
        "PATCH /groups/{group_label}": [{"description": "other", "tags": ["a", "b"]}, {}],
        "POST /groups/{group_label}/members": [{"id": "x3000c0s1b0n0"}],
        "POST /partitions": [{"name": "p2", "members": {"ids": ["x3000c0s1b0n0"]}}],
        "PATCH /partitions/{partition_name}": [{"tags": ["t"]}],
        "POST /partitions/{partition_name}/members": [{"id": "x3000c0s1b0n0"}],
        "POST /sysinfo/powermaps": [[{"id": NODE, "poweredBy": ["x3000m0p0v1"]}]],
        "PUT /sysinfo/powermaps/{xname}": [{"id": "{xname}", "poweredBy": ["x3000m0p0v2"]}],
    },
    "sls": {
        "POST /hardware": [
            {"Xname": "x1000c0s6b0n0", "Class": "Mountain", "ExtraProperties": {"NID": 9, "Role": "Compute"}},
            {"Xname": STORAGE_GROUP, "Class": "Mountain"},
        ],
        "PUT /hardware/{xname}": [{"Class": "Mountain", "ExtraProperties": {"NID": 9, "Role": "Compute"}}],
        "POST /networks": [{"Name": "NEW", "FullName": "a new one", "Type": "ethernet", "IPRanges": ["10.9.0.0/16"]}],
        "PUT /networks/{network}": [{"Name": "NMN", "FullName": "n", "Type": "ethernet", "IPRanges": ["10.9.0.0/16"]}],
    },
    "bss": {
        f"{method} /boot/v1/bootparameters": [_BOOT, {"macs": ["02:00:00:00:00:01"], "params": "quiet"}]
        for method in ("PUT", "POST", "PATCH", "DELETE")
    }
    | {"POST /phone-home": [{"pub_key_rsa": "k", "instance_id": "i", "hostname": "h", "fqdn": "h.local"}]},
    "pcs": {
        "POST /transitions": [
            {"operation": "on", "location": [{"xname": NODE}]},
            {"operation": "force-off", "taskDeadlineMinutes": 2, "location": [{"xname": OTHER}]},
        ],
        "POST /power-status": [{"xname": [NODE, BMC]}, {"xname": [NODE], "powerStateFilter": "on"}],
        "POST /power-cap/snapshot": [{"xnames": [NODE, OTHER]}],
        "PATCH /power-cap": [_CAP],
    },
    "capmc": {
        "POST /get_xname_status": [{"xnames": [NODE]}, {"filter": "show_all"}],
        "POST /xname_on": [_POWER],
        "POST /xname_off": [_POWER],
        "POST /xname_reinit": [_POWER],
        "POST /get_power_cap": [{"nids": [1000, 1001]}],
        "POST /get_power_cap_capabilities": [{"nids": [1000, 1001]}, {"nids": [77777]}, {"nids": [1000, 77777]}],
        "POST /set_power_cap": [{"nids": [{"nid": 1000, "controls": [{"name": "node", "val": 500}]}]}],
    },
    "hbtd": {
        "POST /heartbeat/{xname}": [{"Status": "OK", "TimeStamp": "1"}],
        "POST /heartbeat": [
            {"Component": NODE, "Hostname": "nid001000", "NID": "1000", "Status": "OK", "TimeStamp": "1"}
        ],
        "POST /hbstates": [{"XNames": [NODE, "x9c0s0b0n0"]}],
        "PATCH /params": [{"Debug": "1", "Warntime": "20", "Errtime": "40"}],
    },
    "scsd": {
        "POST /bmc/dumpcfg": [{"Targets": [BMC], "Params": ["NTPServerInfo", "SSHKey"]}],
        "POST /bmc/loadcfg": [{"Targets": [BMC], "Params": _NTP}],
        "POST /bmc/cfg/{xname}": [{"Params": _NTP}],
        "POST /bmc/discreetcreds": [{"Targets": [{"Xname": BMC, "Creds": {"Username": "root", "Password": "p"}}]}],
        "POST /bmc/creds/{xname}": [{"Creds": {"Username": "root", "Password": "p"}}],
        "POST /bmc/globalcreds": [{"Targets": [BMC], "Username": "root", "Password": "p"}],
        "POST /bmc/createcerts": [_CERTS],
        "POST /bmc/deletecerts": [_CERTS],
        "POST /bmc/fetchcerts": [_CERTS],
        "POST /bmc/setcerts": [{"Targets": [BMC], "CertDomain": "Cabinet"}],
        "PATCH /bmc/bios/{xname}/{bios_field}": [{"Future": "Enabled"}],
    },
    "fas": {
        "POST /actions": [ACTION, {"command": {"overrideDryrun": False, "description": "dry"}}],
        "POST /images": [IMAGE],
        "PUT /images/{imageID}": [IMAGE],
        "POST /snapshots": [{"name": "after", "stateComponentFilter": {"xnames": [BMC]}}],
    },
    **samples_software.SAMPLES,
    **samples_fabric.SAMPLES,
}
