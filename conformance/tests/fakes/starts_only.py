"""Says hello honestly as often as its argument says (PATH:TIMES, counted in the file), afterwards exits at once."""

import os
import sys
from pathlib import Path

from conformance.tests.fakes.honest import answer, say, serve

path, times = sys.argv[1].rsplit(":", 1)
counter = Path(path)
started = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(started + 1))
if started >= int(times):
    os.write(2, b"no more today\n")
    sys.exit(5)
serve(lambda request: say(answer(request)))
