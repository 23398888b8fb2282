"""The Kubernetes API of the cluster that CSM runs in: the part that administrators, manta and operators use.

The package ``cluster`` decides which pods run. Objects that clients write (ConfigMaps, tenants, …) are stored here.
"""
