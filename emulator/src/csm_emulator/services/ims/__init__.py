"""IMS, the image management service: v2 and v3 on one store, and the jobs that build and change images."""
