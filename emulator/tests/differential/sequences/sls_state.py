"""SLS: dump and load, with the dumps that HPE's own simulation uses."""

from __future__ import annotations

import json
import os
from pathlib import Path

from differential.generators.sls import BOUNDARY, FORM, form
from differential.sequence import Json, Sequence, Step, get, post

SPECS = Path(os.environ.get("SPECS", Path(__file__).parents[5] / "shared" / "specs"))
X0 = {"Xname": "x0", "Class": "River"}
HMN = {"Name": "HMN", "Type": "ethernet", "IPRanges": []}
DUMP = get("sls:/v1/dumpstate")


def load(dump: Json) -> Step:
    return post("sls:/v1/loadstate", raw=form(dump), headers=FORM)


def _part(head: str, content: str = "{}") -> bytes:
    return f"--{BOUNDARY}\r\nContent-Disposition: {head}\r\n\r\n{content}\r\n--{BOUNDARY}--\r\n".encode()


SEQUENCES = [
    Sequence(
        "a state is replaced",
        load({"Hardware": {"x0": X0}, "Networks": {"HMN": HMN}}),
        DUMP,
        load(
            {"Hardware": {"anything": {"Xname": "X00", "Class": "Hill", "Parent": "x9", "Type": "x", "VaultData": 1}}}
        ),
        DUMP,
        load({}),
        DUMP,
        load(None),
        get("sls:/v1/version"),
    ),
    Sequence(
        "a state that is refused changes nothing",
        load({"Hardware": {"x0": X0}, "Networks": {"HMN": HMN}}),
        *(
            load({"Hardware": {"a": entry}})
            for entry in (
                *(
                    {},
                    None,
                    {"Xname": "x0"},
                    {"Xname": "nonsense", "Class": "River"},
                    {"Xname": "x1", "Class": "river"},
                ),
                *({"Xname": "p1", "Class": "River"}, {"Xname": "x1b0", "Class": "River"}, {**X0, "LastUpdated": "x"}),
                {**X0, "ExtraProperties": "\u0000"},
            )
        ),
        load({"Hardware": {"a": X0, "b": X0}}),
        *(
            load({"Networks": {"a": entry}})
            for entry in (
                {},
                None,
                {**HMN, "Type": "x"},
                {**HMN, "Name": ""},
                {**HMN, "IPRanges": ["x"]},
                {**HMN, "IPRanges": 1},
            )
        ),
        load([]),
        DUMP,
        get("sls:/v1/version"),
    ),
    Sequence(
        "hardware is loaded before networks are refused by the database",
        load({"Hardware": {"x0": X0}, "Networks": {"HMN": HMN}}),
        load({"Hardware": {}, "Networks": {"a": {**HMN, "IPRanges": None}}}),
        DUMP,
        load({"Networks": {"a": HMN, "b": HMN}}),
        DUMP,
        get("sls:/v1/version"),
    ),
    Sequence(
        "forms",
        post("sls:/v1/loadstate", {}),
        post("sls:/v1/loadstate", raw=b"", headers=FORM),
        post("sls:/v1/loadstate", raw=b"nonsense", headers=FORM),
        post("sls:/v1/loadstate", raw=form({}), headers={"Content-Type": "multipart/form-data"}),
        post("sls:/v1/loadstate", raw=form({}), headers={"Content-Type": "multipart/form-data; boundary=other"}),
        *(
            post("sls:/v1/loadstate", raw=_part(head, content), headers=FORM)
            for head, content in (
                ('form-data; name="sls_dump"', "{}"),
                ('form-data; name="sls_dump"; filename=""', "{}"),
                ('form-data; name="other"; filename="x"', "{}"),
                ('form-data; name="sls_dump"; filename="x"', "{}"),
                ('form-data; name="sls_dump"; filename="x"', "{"),
                ('form-data; name="sls_dump"; filename="x"', "null"),
                ("form-data; name=sls_dump; filename=x", "{}"),
                ('attachment; name="sls_dump"; filename="x"', "{}"),
            )
        ),
    ),
    *(
        Sequence(f"HPE's sample {path.stem}", load(json.loads(path.read_text())), DUMP, get("sls:/v1/networks"))
        for path in sorted((SPECS / "samples").glob("*.json"))
    ),
]
