"""Where HPE's own files lie: ``SPECS``, else beside this checkout. A clone without them says what it left out."""

from __future__ import annotations

import os
from pathlib import Path

SPECS = Path(os.environ.get("SPECS") or Path(__file__).parents[2] / "../shared/specs")
