#!/bin/sh
# Runs a script with the first Python 3.11 or newer that really starts: `python3` may be too old, and a
# version manager leaves names behind that fail when run. PYTHON=/path/to/python chooses one.
for candidate in "$PYTHON" python3 python3.13 python3.12 python3.11 python3.14 python \
    /usr/bin/python3.13 /usr/bin/python3.12 /usr/bin/python3.11 \
    /opt/homebrew/bin/python3 /usr/local/bin/python3 \
    /Library/Frameworks/Python.framework/Versions/3.1[1-4]/bin/python3; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        exec "$candidate" "$@"
    fi
done
echo "Candor needs Python 3.11 or newer, and none was found: install one (python.org, or 'brew install python'," \
    "or 'apt install python3 python3-venv'), or name it with PYTHON=/path/to/python." >&2
exit 1
