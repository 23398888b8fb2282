"""Running CFS sessions: the operator, its jobs, and the containers of a job."""
