"""The task queue, with fenced claims, that all background jobs run on.

Guarantees: a queued task runs at least once, however often the program dies; one key of
one kind never runs twice at once; a handler that lost its claim cannot write, because
each of its transactions checks the fence; a due task starts within milliseconds,
without polling.

Transactions lock the rows of tasks last: code that changes a node locks the node, and
then queues its task. A handler that locked its task first would deadlock with it.
"""
