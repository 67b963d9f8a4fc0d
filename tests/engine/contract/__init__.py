"""One contract for every engine, in this process or over the wire."""
