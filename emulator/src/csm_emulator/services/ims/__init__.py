"""IMS, the image management service: API versions 2 and 3 on shared tables, and jobs that make images."""
