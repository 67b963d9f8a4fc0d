#!/bin/sh
# The environment of the independent implementation: PyTorch and transformers, apart from everything that ships.
set -e
if ! build/oracle/bin/python -c 'import torch, transformers' 2>/dev/null; then
    echo "candor: installing PyTorch and transformers into build/oracle"
    sh packaging/find_python.sh -m venv --clear build/oracle
    build/oracle/bin/python -m pip install --quiet torch==2.13.0 transformers==5.24.0 numpy
fi
