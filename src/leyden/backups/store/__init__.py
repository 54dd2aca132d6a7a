"""The store of backups: a restic repository, with keys that age encrypts."""
