"""Starts a child in a session of its own, and one without any environment, then answers nothing but the hello."""

import json
import subprocess
import sys
import time

SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
hello = json.loads(sys.stdin.readline())
flown = subprocess.Popen(SLEEP, start_new_session=True)
bare = subprocess.Popen(SLEEP, env={})
result = {
    "protocol": 1,
    "name": "hung",
    "version": f"{flown.pid} {bare.pid}",
    "language": "Python",
    "wires": ["json"],
    "operators": ["Echo_v1"],
}
print(json.dumps({"jsonrpc": "2.0", "id": hello["id"], "result": result}), flush=True)
time.sleep(600)
