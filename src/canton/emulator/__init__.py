"""A pretend HPE Cray EX that answers on the wire as the real one does.

``machine`` is the ground truth, ``faces`` translate one wire protocol each onto it, ``wire`` is the HTTP that they
share, ``gateway`` is what stands before them. It stands on its own: of Canton it uses only the grammar of names and the
errors in ``domain``, and nothing of Canton but the command table knows it.
"""
