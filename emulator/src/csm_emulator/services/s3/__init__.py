"""S3 as Ceph's RADOS gateway speaks it: images, recipes and whatever else a site keeps.

It stands outside of the API gateway, with a listener of its own. What lies in it on the first day comes from
``furniture``; nothing of that is in the state until somebody changes it.
"""
