# SPDX-License-Identifier: EPL-2.0
"""Runs a command; prints the seconds it took and the most memory that one of its processes had, as JSON.

usage: peak.py COMMAND ARGUMENT...

A program of its own and a small one: a child's peak counts from the memory of the process that it was forked from.
"""

import json
import resource
import subprocess
import sys
import time


def main() -> int:
    begin = time.perf_counter()
    result = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "peak_kb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}))
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
