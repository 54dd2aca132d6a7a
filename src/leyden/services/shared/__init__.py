"""What every subject uses: limits, quotas, rights, steps of tasks."""
