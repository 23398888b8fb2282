"""The Power Control Service, v1: transitions, power status, power caps. Facts from HPE's hms-power-control 2.13."""
