"""The leased, fenced queue that everything runs on which runs by itself.

Promises: a task that was put runs at least once, however often the program dies; one
key of one kind never runs twice at once; a handler that lost its claim cannot write,
because each of its transactions checks the fence; what is due starts within
milliseconds, and nothing polls.

A transaction locks the rows of tasks last: whoever changes a node locks the node, and
then puts its task. A handler that locked its task first would wait for them, and they
for it.
"""
