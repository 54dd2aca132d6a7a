"""Create, check and drill backups of the installation.

A snapshot in the store has three files:

    manifest.json             what the backup is of, and what it must contain
    database.sqlite | .pgdump a consistent copy of the database
    keys.age                  sealing keys, authority and settings, encrypted to a
                              key that is neither on this machine nor in the store
"""
