"""The folder of HPE's API files: ``SPECS``, else a folder beside this checkout. Tests that lack a file are reported."""

from __future__ import annotations

import os
from pathlib import Path

SPECS = Path(os.environ.get("SPECS") or Path(__file__).parents[1] / "../shared/specs")
