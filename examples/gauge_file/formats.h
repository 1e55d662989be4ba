// SPDX-License-Identifier: BSD-3-Clause
// Whole files in NERSC's and in ILDG's format, written by all ranks. The bytes depend on the field
// only, not on the number of ranks or their grid.
//
// All functions are collective; errors become the same InputError on all ranks.
#pragma once

#include <string>

#include "gauge.h"

namespace gauge_file {

struct Format {
    bool ildg;
    int word_bytes;  // 4 or 8
    bool big_endian;
};

// IEEE32BIG, IEEE32LITTLE, IEEE64BIG and IEEE64LITTLE are NERSC's names; ILDG32 and ILDG64 stand
// for ILDG's format. Throws InputError for other names.
Format parse_format(const std::string& name);

// `rows` of each link, 2 or 3; ILDG's format always has 3. Returns a line with the properties of
// the file.
std::string write_file(const std::string& path, const Format& format, int rows,
                       const wilson::Lattice& lattice, const wilson::GaugeField& field);

}  // namespace gauge_file
