"""The guards of nodes that are moved between runtimes; see mutations.py."""

from tests.guards import Guard

_MOVES = "services/nodes/relocations.py"
_SIDE = "runtimes/local_side.py"
_STORY = "tests/services/test_relocations.py"
_COPIES = "tests/runtimes/test_copies.py"

GUARDS = (
    Guard(
        "what a move left behind is deleted after its node, too",
        "storage/sql/relocations.sql",
        "DELETE FROM relocation\nWHERE node_id = :node_id\n    AND step = 'done';",
        "DELETE FROM relocation\nWHERE node_id = :node_id;",
        "tests/services/test_relocations.py",
        "sqlite and even_after",
    ),
    Guard(
        "an lnd that was started by who slept through a move is ended",
        "services/nodes/reconciler.py",
        "        await fleet.runtime.stop(node)\n        return\n    async with",
        "        return\n    async with",
        _STORY,
        "who_slept_is_ended and True",
    ),
    Guard(
        "a node that was started by who slept is looked at again",
        "services/nodes/reconciler.py",
        "    async with fleet.database.transaction() as tx:\n"
        "        await tx.tasks.put(NODE, node.id, due=fleet.clock())\n",
        "",
        _STORY,
        "who_slept_is_ended and False",
    ),
    Guard(
        "nobody starts a node that is being moved",
        "domain/node_moves.py",
        "    if node.moves_to is not None:\n"
        "        return Step.STOP if node.has_process else Step.NOTHING\n",
        "",
        _STORY,
    ),
    Guard(
        "a start that began before a move has ended before it is sealed",
        _MOVES,
        " and not await tasks.is_queued(NODE, node.id)",
        "",
        _STORY,
        "start_that_began",
    ),
    Guard(
        "a start makes no folder where one was renamed meanwhile",
        "runtimes/local_launches.py",
        "        if not node.has_wallet:\n            folder.mkdir(exist_ok=True)\n",
        "        folder.mkdir(exist_ok=True)\n",
        _COPIES,
        "makes_no_other_folder",
    ),
    Guard(
        "a copy that differs is never started",
        _MOVES,
        "if arrived != sealed:",
        "if False:",
        _STORY,
    ),
    Guard(
        "a node is sealed before it is copied",
        _MOVES,
        "    await origin.seal(node, launch_spec)\n",
        "",
        _STORY,
    ),
    Guard(
        "a node is copied once its lnd has ended",
        _SIDE,
        "await processes.stop(held, grace_s=self._grace_s)",
        "break",
        _COPIES,
    ),
    Guard(
        "a copy that arrives takes no folder's place",
        _SIDE,
        "            if folder.exists():\n"
        "                raise SetupError(\n"
        '                    f"node {node.id}: {folder} is there, and is not',
        "            if False:\n"
        "                raise SetupError(\n"
        '                    f"node {node.id}: {folder} is there, and is not',
        _COPIES,
    ),
    Guard(
        "who slept deletes what it found here, and no later folder of its name",
        _SIDE,
        "os.path.samestat(os.fstat(folder), path.lstat())",
        "shutil.rmtree(path) is None",
        _COPIES,
        "who_slept",
    ),
    Guard(
        "who slept deletes the claim it found, and no later one",
        "runtimes/kubernetes/objects.py",
        "if only is not None and only.claim != claim_uid:",
        "if False:",
        "tests/runtimes/test_kubernetes.py",
        "who_slept",
    ),
    Guard(
        "who slept deletes the service it found, and no later one",
        "runtimes/kubernetes/objects.py",
        'uid = "" if only is None else only.service',
        'uid = ""',
        "tests/runtimes/test_kubernetes.py",
        "worker_that_slept",
    ),
    Guard(
        "what is left over is found before the move is asked whose it is",
        _MOVES,
        "        async with work.transaction() as tx:\n"
        "            await tx.nodes.lock(node.id)\n"
        "        await delete()\n",
        "        await delete()\n",
        _STORY,
        "slept_through",
    ),
    Guard(
        "who slept until a node was returned leaves no seal",
        _MOVES,
        "            await _unseal_if_returned(fleet, relocation)\n",
        "            pass\n",
        _STORY,
        "leaves_no_seal",
    ),
    Guard(
        "a node that is being moved stays sealed, whoever has lost its claim",
        _MOVES,
        "            and node.moves_to is None\n",
        "",
        _STORY,
        "stays_sealed",
    ),
    Guard(
        "a copy that is gone is made again",
        _MOVES,
        "    except CopyGone as error:\n",
        "    except NotFound as error:\n",
        _STORY,
        "replaced_who_slept",
    ),
    Guard(
        "who slept through a move leaves no copier pod in the way of its lnd",
        "runtimes/kubernetes/side.py",
        "                if made is not None:\n",
        "                if False:\n",
        "tests/runtimes/test_kubernetes.py",
        "in_the_way_of_lnd",
    ),
    Guard(
        "a move is complete once the claim that it left is gone",
        "runtimes/kubernetes/side.py",
        "            await self._until_claim_is_gone(node, found.claim)\n",
        "",
        "tests/runtimes/test_kubernetes.py",
        "claim_is_gone",
    ),
    Guard(
        "a folder that is missing is not an empty one",
        "runtimes/copies.py",
        "    for name, path in _files(folder, onerror=_raise):\n",
        "    for name, path in _files(folder):\n",
        _COPIES,
        "not_an_empty_one",
    ),
    Guard(
        "a copy that is gone is not taken for one that was settled",
        _SIDE,
        "        elif not folder.is_dir():\n",
        "        elif False:\n",
        _COPIES,
        "copy_that_is_gone",
    ),
    Guard(
        "an empty seal is not taken for a node that is there",
        _SIDE,
        "                sealed.rmdir()\n",
        "",
        _COPIES,
        "empty_seal",
    ),
    Guard(
        "a copy is not settled while it is deleted",
        _SIDE,
        "            shutil.rmtree(_marked(each))\n",
        "            shutil.rmtree(each)\n",
        _COPIES,
        "who_slept_deletes_it",
    ),
    Guard(
        "a move counts as a start",
        _SIDE,
        'counter.count(arriving / "starts", number)',
        "pass",
        _COPIES,
    ),
    Guard(
        "another volume needs the operator's word",
        "runtimes/kubernetes/objects.py",
        'if known.copy not in {"", volume}:',
        "if False:",
        "tests/runtimes/test_kubernetes.py",
    ),
    Guard(
        "an archive leads to no file outside",
        "runtimes/copies.py",
        'or ".." in parts:',
        "or False:",
        _COPIES,
    ),
)
