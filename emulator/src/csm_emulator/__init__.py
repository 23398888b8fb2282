"""An emulated HPE Cray EX that answers on the wire as the real one does.

``machine`` is the real state of the hardware, each package of ``services`` offers one API on it, ``transport`` is the
HTTP that they share, ``dialects`` are the formats and error texts of the languages and libraries that the real
services are written in, ``gateway`` checks tokens and permissions. It is a project of its own: it imports nothing of
Canton, and Canton's product code imports nothing of it.
"""

__version__ = "0.1.0"
