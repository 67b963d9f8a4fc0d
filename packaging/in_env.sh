#!/bin/sh
# Runs a command of the project's environment; on Linux with OpenBLAS in front, where it is installed:
# mlx's CPU build finds a BLAS without threads or vector code otherwise, and reads prompts ten times slower.
PATH="$PWD/.venv/bin:$PATH"
export PATH PYTHONPATH="$PWD" QT_API=pyside6
# Without compiled bytecode every start would compile the source anew.
unset PYTHONHOME PYTHONDONTWRITEBYTECODE
if [ "$(uname)" = Linux ]; then
    for blas in /usr/lib/*/openblas-pthread/libblas.so.3; do
        [ -e "$blas" ] && export LD_PRELOAD="$blas"
    done
fi
if [ "$1" = run ]; then
    if [ "$(uname)" = Linux ] && [ -z "$DISPLAY$WAYLAND_DISPLAY$QT_QPA_PLATFORM" ]; then
        exec python -m app.demo
    fi
    exec python -m app
fi
exec "$@"
