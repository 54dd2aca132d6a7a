"""The workshop of Leyden: a private chain, a cluster, and the daemons' compiler.

    leyden ── service, knows nothing of the workshop
       ↑
    leyden_workshop ── adds commands to `leyden`, and builds its daemons

Both find each other by entry points: `leyden.commands` and `leyden.builders`.
"""
