"""Says on stderr why it cannot start and exits with status 2."""

import sys

print("the weights are missing", file=sys.stderr)
sys.exit(2)
