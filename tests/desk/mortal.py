"""A desk that is to be killed: `python -m tests.desk.mortal FOLDER URL PORT`.

The run is trained once. For every line on standard input a child is forked that serves, and its process id is printed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dcshap.desk.horizontal_cases import HorizontalCases
from dcshap.desk.onsite import Source
from dcshap.desk.server import Opening, serve
from tests.desk import people


def main(folder: Path, url: str, port: int) -> None:
    run = people.horizontal()
    cases = HorizontalCases(Source(lambda: run, lambda: 0), "north", people.people())
    cases.predictions()
    child = 0
    for _ in sys.stdin:
        if child:
            os.waitpid(child, 0)  # it was killed, but may not have given its port back yet
        child = os.fork()
        if child == 0:
            opening = Opening(people.make_desk(folder, cases, url=url or None), port=port)
            serve([(opening, opening.bound())], processes=2)
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
