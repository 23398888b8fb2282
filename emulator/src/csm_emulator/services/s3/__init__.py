"""S3 as Ceph's RADOS gateway implements it: images, recipes and other objects of a site.

It is not behind the API gateway: it has a listener of its own. The objects of the first day come from
``csm_emulator.seed_data``; they are not part of the stored state until a client changes them.
"""
