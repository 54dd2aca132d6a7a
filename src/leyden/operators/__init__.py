"""What operators look at and look after: the overview, alarms and the audit log."""
