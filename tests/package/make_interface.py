#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints interface.inc, for a release that has added to the interfaces:

    make_interface.py SOURCES >tests/package/interface.inc
"""
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCES / "manual"))
import headers  # noqa: E402

HEADERS = [SOURCES / "qmp/qmp.h", SOURCES / "mpi11/mpi.h", SOURCES / "mpi11/mpi-ext.h",
           SOURCES / "mpi11/torusmp_mpi.h"]
SIZES = ["sizeof(MPI_Status)", "sizeof(MPI_Comm)", "sizeof(MPI_Aint)", "sizeof(MPI_Count)",
         "sizeof(MPI_Offset)", "sizeof(QMP_status_t)", "sizeof(QMP_bool_t)", "sizeof(QMP_msghandle_t)"]


def functions(text):
    return [function.prototype for block in headers.parse(text)[1] for function in block.functions()]


def constants(text):
    """Returns the names of constants, except the constants of MPI, which tests/mpi11 checks."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = re.findall(r"^#define ((?:QMP|TORUSMP)_[A-Z_0-9]+) \(?[0-9(]", code, re.M)
    for body in re.findall(r"enum \w+ \{(.*?)\}", code, re.S):
        names += re.findall(r"\b(QMP_\w+)", body)
    return names


def values(names):
    """Returns the lines that state their values, which the compiler computes."""
    with tempfile.TemporaryDirectory() as folder:
        for header in HEADERS:
            pathlib.Path(folder, header.name).write_text(header.read_text())
        source = pathlib.Path(folder, "values.c")
        prints = "".join(f'    printf("SAME({name}, %ld);\\n", (long)({name}));\n' for name in names)
        source.write_text("#include <stdio.h>\n#include <qmp.h>\n#include <torusmp_mpi.h>\n"
                          f"int main(void) {{\n{prints}    return 0;\n}}\n")
        subprocess.run(["cc", "-I", folder, source, "-o", f"{folder}/values"], check=True)
        return subprocess.run([f"{folder}/values"], capture_output=True, text=True, check=True).stdout


texts = [header.read_text() for header in HEADERS]
print("/* Made by make_interface.py. */")
print("\n".join(prototype for text in texts for prototype in functions(text)))
print(values(SIZES + [name for text in texts for name in constants(text)]), end="")
