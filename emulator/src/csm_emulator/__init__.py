"""An emulated HPE Cray EX that answers on the wire as the real one does.

``machine`` is the hardware as it really is, ``services`` translate one API each onto it, ``transport`` is the HTTP that
they share, ``dialects`` are the habits of the languages that the real services are written in, ``gateway`` decides who
may ask what. It is a project of its own: it imports nothing of Canton, and Canton's product code imports nothing of it.
"""

__version__ = "0.1.0"
