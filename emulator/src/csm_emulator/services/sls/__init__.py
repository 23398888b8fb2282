"""SLS, the System Layout Service: the hardware and networks that the site describes. Facts from hms-sls v2.12.0."""
