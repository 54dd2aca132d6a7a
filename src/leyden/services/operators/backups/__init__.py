"""Backups of the installation: made, checked, and restored for a drill.

A snapshot in the store has three files:

    manifest.json             what the backup is of, and what must be found in it
    database.sqlite | .pgdump a consistent copy of the database
    keys.age                  sealing keys, authority and settings, encrypted to a
                              key that is neither on this machine nor in the store
"""
