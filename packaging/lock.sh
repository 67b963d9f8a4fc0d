#!/bin/sh
# Pins every dependency with hashes, for the platforms that pyproject.toml names. The pinned list holds no addresses.
set -e
python=.venv/bin/python
$python -m venv build/lock
build/lock/bin/python -m pip install --quiet uv
build/lock/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes \
    --no-annotate --no-header --no-emit-index-url --quiet --output-file requirements.lock "$@"
