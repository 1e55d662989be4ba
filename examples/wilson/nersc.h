// SPDX-License-Identifier: BSD-3-Clause
// Gauge configurations in the NERSC archive format.
//
// A file is a text header, BEGIN_HEADER to END_HEADER with one KEY = VALUE per line, followed by
// the links (gauge_file.h): two rows of each (4D_SU3_GAUGE) or three (4D_SU3_GAUGE_3x3). CHECKSUM
// is the sum of the data as 32-bit words, LINK_TRACE and PLAQUETTE are means over the lattice.
//
// The functions marked collective are called by all ranks; an error in the file becomes the same
// InputError on all of them, with the file, the header's line, what was found and what was
// expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gauge_file.h"

namespace wilson {

// Trivially copyable: rank 0 broadcasts it.
struct NerscHeader : GaugeData {
    std::uint32_t checksum;
    double link_trace, plaquette;
    struct {
        int extent, checksum, link_trace, plaquette, floating_point;
    } line;  // of each in the header, for messages
};

// The largest difference of plaquette and link trace from the values in the header: these were
// computed elsewhere, often in single precision.
inline constexpr double nersc_tolerance = 1e-6;

// Reads a header from the first bytes of a file. `path` is for messages only. Throws InputError.
// Not collective.
NerscHeader parse_nersc_header(std::string_view text, const std::string& path);

// Reads the header and compares the file's length with it. Collective.
NerscHeader read_nersc_header(const std::string& path);

// Reads the links and checks the checksum. The lattice must have the header's extent. Collective.
void read_nersc_links(const std::string& path, const NerscHeader& header, const Lattice& lattice,
                      GaugeField& field, const LinkReader& read = read_links);

// The sum of a site's data as 32-bit words, and of the sums of all ranks, which is CHECKSUM. The
// second is collective.
std::uint32_t word_sum(std::span<const std::byte> site, bool big_endian);
std::uint32_t sum_over_ranks(std::uint32_t value);

// Compares the measured values with those in the header. Same arguments on all ranks; throws
// InputError on all.
void check_nersc(const std::string& path, const NerscHeader& header, double plaquette,
                 double link_trace);

}  // namespace wilson
