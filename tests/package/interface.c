/* SPDX-License-Identifier: BSD-3-Clause */
/* What the last release promised, against the headers of today: compiling this fails where a
 * function or a constant is no longer what programs were built with. Then the SONAME must change,
 * or the change must not be. Additions are no matter; make_interface.py lists them for the next
 * release. */
#include <mpi.h>
#include <qmp.h>
#include <torusmp_mpi.h>

#define SAME(what, number) _Static_assert((long)(what) == (number), #what)

#include "interface.inc"
