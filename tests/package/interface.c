/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of the last release, against the headers of today: this does not compile if a
 * function or a constant has changed since programs were built with it. Then either the SONAME must
 * change, or the change must be undone. Additions are allowed; make_interface.py lists them for the
 * next release. */
#include <mpi-ext.h>
#include <qmp.h>
#include <torusmp_mpi.h>

#define SAME(what, number) _Static_assert((long)(what) == (number), #what)

#include "interface.inc"
