"""What happens when a CFS session runs: the operator, its job, and what the containers of the job do."""
