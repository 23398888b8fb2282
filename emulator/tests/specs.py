"""The folder of HPE's own files: ``SPECS``, else beside this checkout. A clone without them lists the skipped tests."""

from __future__ import annotations

import os
from pathlib import Path

SPECS = Path(os.environ.get("SPECS") or Path(__file__).parents[2] / "../shared/specs")
