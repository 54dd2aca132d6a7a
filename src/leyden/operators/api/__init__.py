"""The operator API: what operators' pages and commands do, for programs."""
