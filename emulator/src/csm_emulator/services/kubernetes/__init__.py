"""The API of the Kubernetes cluster that CSM runs in: as much of it as administrators, manta and operators use.

What runs is ground truth of ``cluster``; what is written (ConfigMaps, tenants, …) is kept here.
"""
