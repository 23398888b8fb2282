"""What the cluster does by itself: workloads, jobs, cron jobs, namespaces, nodes."""
