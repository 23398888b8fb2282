"""Controllers: workloads, jobs, cron jobs, namespaces, nodes."""
