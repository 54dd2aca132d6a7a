"""What happened to an organization: logged, and told by webhook, email or chat."""
