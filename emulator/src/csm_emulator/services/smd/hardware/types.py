"""The fields of the hardware inventory for each type: those of SMD's structs, in their order.

Names are those of pkg/redfish and pkg/sm in hms-smd.
"""

from __future__ import annotations

import re

from csm_emulator.dialects.go_json.types import (
    ANY,
    BOOL,
    INT,
    NUMBER,
    RAW,
    STRING,
    GoType,
    Struct,
    pointer_to,
    slice_of,
    struct,
    texts,
)


def _numbers(names: str) -> dict[str, GoType]:
    return dict.fromkeys(names.split(), NUMBER)


_CHASSIS_PLACE = struct("rf.ChassisLocationInfoRF", texts("Id Name Description HostName"))
_CHASSIS = struct("rf.ChassisFRUInfoRF", texts("AssetTag ChassisType Model Manufacturer PartNumber SerialNumber SKU"))
_SYSTEM_PLACE = struct(
    "rf.SystemLocationInfoRF",
    {
        **texts("Id Name Description HostName"),
        "ProcessorSummary": struct("rf.ComputerSystemProcessorSummary", {"Count": NUMBER, "Model": STRING}),
        "MemorySummary": struct("rf.ComputerSystemMemorySummary", {"TotalSystemMemoryGiB": NUMBER}),
    },
)
_SYSTEM = struct(
    "rf.SystemFRUInfoRF",
    texts("AssetTag BiosVersion Model Manufacturer PartNumber SerialNumber SKU SystemType UUID"),
)
_PROCESSOR_PLACE = struct("rf.ProcessorLocationInfoRF", texts("Id Name Description Socket"))
_PROCESSOR_ID = struct(
    "rf.ProcessorIdRF",
    texts("EffectiveFamily EffectiveModel IdentificationRegisters MicrocodeInfo Step VendorID"),
)
_PROCESSOR_OEM = struct(
    "rf.ProcessorOEM",
    {
        "GBTProcessorOemProperty": pointer_to(
            struct(
                "rf.GBTProcessorOem",
                {"Processor Serial Number": STRING},
            )
        )
    },
    omitted="GBTProcessorOemProperty",
)
_PROCESSOR = struct(
    "rf.ProcessorFRUInfoRF",
    {
        **texts("InstructionSet Manufacturer"),
        "MaxSpeedMHz": NUMBER,
        **texts("Model SerialNumber PartNumber ProcessorArchitecture"),
        "ProcessorId": _PROCESSOR_ID,
        "ProcessorType": STRING,
        **_numbers("TotalCores TotalThreads"),
        "Oem": pointer_to(_PROCESSOR_OEM),
    },
)
_MEMORY_PLACE = struct(
    "rf.MemoryLocationInfoRF",
    {
        **texts("Id Name Description"),
        "MemoryLocation": struct("rf.MemoryLocationRF", _numbers("Socket MemoryController Channel Slot")),
    },
)
_MEMORY = struct(
    "rf.MemoryFRUInfoRF",
    {
        "BaseModuleType": STRING,
        **_numbers("BusWidthBits CapacityMiB DataWidthBits"),
        **texts("ErrorCorrection Manufacturer MemoryType MemoryDeviceType"),
        "OperatingSpeedMhz": NUMBER,
        "PartNumber": STRING,
        "RankCount": NUMBER,
        "SerialNumber": STRING,
    },
    omitted="BaseModuleType BusWidthBits DataWidthBits ErrorCorrection Manufacturer MemoryType MemoryDeviceType"
    " PartNumber RankCount",
)
_DRIVE_PLACE = struct("rf.DriveLocationInfoRF", texts("Id Name Description"))
_DRIVE = struct(
    "rf.DriveFRUInfoRF",
    {
        **texts("Manufacturer SerialNumber PartNumber Model SKU"),
        "CapacityBytes": NUMBER,
        **texts("Protocol MediaType"),
        **_numbers("RotationSpeedRPM BlockSizeBytes CapableSpeedGbs"),
        "FailurePredicted": BOOL,
        **texts("EncryptionAbility EncryptionStatus"),
        **_numbers("NegotiatedSpeedGbs PredictedMediaLifeLeftPercent"),
    },
)
_NIC_PLACE = struct("rf.NALocationInfoRF", texts("Id Name Description"))
_NIC = struct("rf.NAFRUInfoRF", texts("Manufacturer Model PartNumber SKU SerialNumber"), omitted="SKU")
_LOCATION_FIELDS = "ContactInfo Latitude Longitude PartLocation Placement PostalAddress"
_LOCATION = struct(
    "rf.Location",
    {name: NUMBER if name.endswith("itude") else pointer_to(RAW) for name in _LOCATION_FIELDS.split()},
    omitted=_LOCATION_FIELDS,
)
_PDU_PLACE = struct(
    "rf.PowerDistributionLocationInfo", {**texts("Id Description Name UUID"), "Location": pointer_to(_LOCATION)}
)
_CIRCUITS = (
    "ControlledOutlets MonitoredBranches MonitoredOutlets MonitoredPhases TotalBranches TotalOutlets TotalPhases"
)
_PDU = struct(
    "rf.PowerDistributionFRUInfo",
    {
        **texts("AssetTag DateOfManufacture EquipmentType FirmwareVersion HardwareRevision Manufacturer Model"),
        **texts("PartNumber SerialNumber"),
        "CircuitSummary": struct("rf.CircuitSummary", _numbers(_CIRCUITS), omitted=_CIRCUITS),
    },
    omitted="DateOfManufacture",
)
_OUTLET_PLACE = struct("rf.OutletLocationInfo", texts("Id Description Name"))
_OUTLET = struct(
    "rf.OutletFRUInfo",
    {
        **texts("NominalVoltage OutletType"),
        "EnergySensor": pointer_to(RAW),
        "FrequencySensor": pointer_to(RAW),
        "PhaseWiringType": STRING,
        "PowerEnabled": pointer_to(BOOL),
        "RatedCurrentAmps": NUMBER,
        "VoltageType": STRING,
    },
    omitted="NominalVoltage EnergySensor FrequencySensor PhaseWiringType PowerEnabled RatedCurrentAmps VoltageType",
)
_SUPPLY_PLACE = struct("rf.PowerSupplyLocationInfoRF", texts("Name FirmwareVersion"))
_SUPPLY = struct(
    "rf.PowerSupplyFRUInfoRF",
    {
        **texts("Manufacturer SerialNumber Model PartNumber"),
        "PowerCapacityWatts": INT,
        "PowerInputWatts": INT,
        "PowerOutputWatts": ANY,
        "PowerSupplyType": STRING,
    },
)
_MANAGER_PLACE = struct(
    "rf.ManagerLocationInfoRF", texts("DateTime DateTimeLocalOffset Description FirmwareVersion Id Name")
)
_MANAGER = struct("rf.ManagerFRUInfoRF", texts("ManagerType Model Manufacturer PartNumber SerialNumber"))
_RISER_PLACE = struct("rf.NodeAccelRiserLocationInfoRF", texts("Name Description"))
_RISER = struct(
    "rf.NodeAccelRiserFRUInfoRF",
    {
        **texts("PhysicalContext Producer SerialNumber PartNumber Model ProductionDate Version EngineeringChangeLevel"),
        "Oem": pointer_to(struct("rf.NodeAccelRiserOEM", {"PCBSerialNumber": STRING})),
    },
    omitted="Oem",
)

TYPES: dict[str, tuple[Struct, Struct]] = {
    "Cabinet": (_CHASSIS_PLACE, _CHASSIS),
    "Chassis": (_CHASSIS_PLACE, _CHASSIS),
    "ComputeModule": (_CHASSIS_PLACE, _CHASSIS),
    "RouterModule": (_CHASSIS_PLACE, _CHASSIS),
    "NodeEnclosure": (_CHASSIS_PLACE, _CHASSIS),
    "HSNBoard": (_CHASSIS_PLACE, _CHASSIS),
    "MgmtSwitch": (_CHASSIS_PLACE, _CHASSIS),
    "MgmtHLSwitch": (_CHASSIS_PLACE, _CHASSIS),
    "CDUMgmtSwitch": (_CHASSIS_PLACE, _CHASSIS),
    "Node": (_SYSTEM_PLACE, _SYSTEM),
    "Processor": (_PROCESSOR_PLACE, _PROCESSOR),
    "NodeAccel": (_PROCESSOR_PLACE, _PROCESSOR),
    "Memory": (_MEMORY_PLACE, _MEMORY),
    "Drive": (_DRIVE_PLACE, _DRIVE),
    "NodeHsnNic": (_NIC_PLACE, _NIC),
    "CabinetPDU": (_PDU_PLACE, _PDU),
    "CabinetPDUOutlet": (_OUTLET_PLACE, _OUTLET),
    "CabinetPDUPowerConnector": (_OUTLET_PLACE, _OUTLET),
    "CMMRectifier": (_SUPPLY_PLACE, _SUPPLY),
    "NodeEnclosurePowerSupply": (_SUPPLY_PLACE, _SUPPLY),
    "NodeBMC": (_MANAGER_PLACE, _MANAGER),
    "RouterBMC": (_MANAGER_PLACE, _MANAGER),
    "NodeAccelRiser": (_RISER_PLACE, _RISER),
}
"""Type → (location info, FRU info)."""
_STEMS = {"CabinetPDU": "PDU", "CabinetPDUOutlet": "Outlet", "CabinetPDUPowerConnector": "Outlet"}
WITHOUT_PART_NUMBER = frozenset({"CMMRectifier", "NodeEnclosurePowerSupply"})
_MARKS = re.compile("[^a-zA-Z0-9]+")

ARRAYS = {
    "Node": "Nodes",
    "Cabinet": "Cabinets",
    "Chassis": "Chassis",
    "ComputeModule": "ComputeModules",
    "RouterModule": "RouterModules",
    "NodeEnclosure": "NodeEnclosures",
    "HSNBoard": "HSNBoards",
    "Processor": "Processors",
    "Memory": "Memory",
    "Drive": "Drives",
    "CabinetPDU": "CabinetPDUs",
    "CabinetPDUPowerConnector": "CabinetPDUPowerConnectors",
    "CMMRectifier": "CMMRectifiers",
    "NodeAccel": "NodeAccels",
    "NodeAccelRiser": "NodeAccelRisers",
    "NodeEnclosurePowerSupply": "NodeEnclosurePowerSupplies",
    "NodeHsnNic": "NodeHsnNics",
    "NodeBMC": "NodeBMCs",
    "RouterBMC": "RouterBMCs",
    "MgmtSwitch": "MgmtSwitches",
    "MgmtHLSwitch": "MgmtHLSwitches",
    "CDUMgmtSwitch": "CDUMgmtSwitches",
}
"""Type → the array with its places, in SMD's order."""


def stem(kind: str) -> str:
    return _STEMS.get(kind, kind)


def place_key(kind: str) -> str:
    return f"{stem(kind)}LocationInfo"


def fru_key(kind: str) -> str:
    return f"{stem(kind)}FRUInfo"


def fru_id(kind: str, xname: str, manufacturer: str, part_number: str, serial_number: str) -> str:
    """Such as ``Node.HPE.10192070D.HC0123``; named after its place when the FRU has no identity of its own."""
    maker, part, serial = (_MARKS.sub("", text) for text in (manufacturer, part_number, serial_number))
    name = ".".join(text for text in (kind, maker, part, serial) if text)
    trackable = serial and (maker or part) and len(name) <= 255
    return name if trackable else f"FRUIDfor{xname}"


_PLACES = {place_key(kind): pointer_to(place) for kind, (place, _) in TYPES.items()}
_FRUS = {fru_key(kind): pointer_to(fru) for kind, (_, fru) in TYPES.items()}
_ARRAY = slice_of(pointer_to(struct("sm.HWInvByLoc", {})))
FRU = struct("sm.HWInvByFRU", {**texts("FRUID Type Subtype HWInventoryByFRUType"), **_FRUS})
LOCATION = struct(
    "sm.HWInvByLoc",
    {
        **texts("ID Type"),
        "Ordinal": INT,
        **texts("Status HWInventoryByLocationType"),
        **_PLACES,
        "PopulatedFRU": pointer_to(FRU),
        **dict.fromkeys(ARRAYS.values(), _ARRAY),
    },
    embedded=dict.fromkeys(ARRAYS.values(), "hmsTypeArrays"),
)
POSTED = struct("main.HwInvIn", {"Hardware": slice_of(LOCATION)})
