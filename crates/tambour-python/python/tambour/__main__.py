"""``python -m tambour``: the command line, the same as the program ``tambour``."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command line; its exit code."""
    from tambour import _internal

    if not _internal.has_sql:
        print("error: this build of tambour has no SQL, and no command line", file=sys.stderr)
        return 5
    # The command line has its own way with both, which Python's would be in.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _internal.command_line(["tambour", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
