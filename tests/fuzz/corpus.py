#!/usr/bin/env python3
"""Writes matrix files for the corpus of reader_fuzz: one of each kind of Matrix Market file, and PETSc's binary format,
sound and damaged. The other corpora were found by the fuzzer itself, but for patterns with one flaw (flaw-*); few were
kept by

    build/fuzz/NAME_fuzz -merge=1 tests/fuzz/corpus/NAME FOLDER_OF_INPUTS

    python3 tests/fuzz/corpus.py FOLDER
"""

import argparse
import pathlib
import struct

HEAD = "%%MatrixMarket matrix coordinate "
TEXTS = {
    "general": HEAD + "real general\n3 3 5\n1 1 2\n2 2 2\n3 3 2\n1 2 1\n3 1 1\n",
    "symmetric": HEAD + "real symmetric\n% lower triangle\n3 3 4\n1 1 2.5\n2 2 2e0\n3 3 2\n3 1 -1\n",
    "pattern": HEAD + "pattern general\n2 2 3\n1 1\n2 2\n2 1\n",
    "skew": HEAD + "integer skew-symmetric\n3 3 2\n2 1 7\n3 1 -4\n",
    "hermitian": HEAD + "complex hermitian\n2 2 2\n1 1 3 0\n2 1 2 -1.5\n",
    "array": "%%MatrixMarket matrix array real general\n2 1\n1\n2\n",
    "rectangle": HEAD + "real general\n2 4 2\n1 4 1\n2 1 inf\n",
    "twice": HEAD + "real general\n2 2 3\n1 1 1\n1 1 2\n2 2 nan\n",
    "outside": HEAD + "real general\n2 2 1\n3 1 1\n",
    "short": HEAD + "real general\n2 2 3\n1 1 1\n",
    "empty": HEAD + "real general\n0 0 0\n",
}


def binary(columns, rows, values=None, header=None, lengths=None):
    lengths = lengths or [len(row) for row in rows]
    flat = [column for row in rows for column in row]
    numbers = header or [1211216, len(rows), columns, len(flat)]
    numbers = numbers + lengths + flat
    return struct.pack(f">{len(numbers)}i", *numbers) + struct.pack(f">{len(flat)}d", *(values or [2.0] * len(flat)))


# a value whose bytes begin with a column, for row lengths that reach into the values
LIKE_COLUMN_2 = struct.unpack(">d", struct.pack(">2i", 2, 0))[0]
BINARIES = {
    "binary": binary(3, [[0, 1], [1], [0, 2]]),
    "binary-empty": binary(0, []),
    "binary-wide": binary(5, [[4], []]),
    "binary-vector": binary(2, [[0], [1]]) + struct.pack(">2i2d", 1211214, 2, 1.0, 2.0),
    "binary-unsorted": binary(2, [[1, 0], [1]]),
    "binary-outside": binary(2, [[0], [2]]),
    "binary-short": binary(2, [[0], [1]])[:-4],
    "binary-sum": binary(2, [[0], [1]], header=[1211216, 2, 2, 3]),
    "binary-negative": binary(3, [[0], [1]], values=[LIKE_COLUMN_2, 0.0], lengths=[-1, 3]),
    "binary-more": binary(3, [[0], [1]], values=[LIKE_COLUMN_2, 0.0], lengths=[1, 2]),
    "binary-long-indices": struct.pack(">4q", 1211216, 0, 0, 0),
    "gzip": b"\x1f\x8b\x08\x00",
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="ascii")
    for name, content in BINARIES.items():
        (folder / name).write_bytes(content)
