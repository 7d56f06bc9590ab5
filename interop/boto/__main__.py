"""Runs every rule for boto3 clients: python -m boto SUITE [any-credentials]."""

import os
import sys

import checks
from boto import access, batches, fifo, messages, moves, queues, restart
from boto.world import World


def main():
    suite, mode = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    world = World(f"b{os.getpid()}")
    modules = {
        "": [queues, messages, batches, fifo, moves, access],
        "any-credentials": [access.anyone],
        "fill": [restart.fill],
        "after": [restart.after],
    }[mode]
    rows = [row for m in modules for row in getattr(m, "rules", m).rows if row[1] in (None, world.protocol)]
    try:
        failed = checks.run(f"{suite} ({world.protocol})", world, rows, together=6 if mode == "" else 1)
    finally:
        if mode != "fill":
            world.close()
    sys.exit(1 if failed else 0)


main()
