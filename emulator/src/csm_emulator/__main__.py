"""``python -m csm_emulator`` is ``csm-emulator``."""

from __future__ import annotations

import sys

from csm_emulator.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
