"""SLS, the System Layout Service: what hardware and networks the site says there are. Facts from hms-sls v2.12.0."""
