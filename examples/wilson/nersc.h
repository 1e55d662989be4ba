// SPDX-License-Identifier: BSD-3-Clause
// Gauge configurations in the NERSC archive format.
//
// A file is a text header, BEGIN_HEADER to END_HEADER with one KEY = VALUE a line, and then the
// links: x runs fastest, then y, z, t; at each site the four directions; of each link two rows
// (4D_SU3_GAUGE) or three (4D_SU3_GAUGE_3x3) of complex numbers. CHECKSUM is the sum of the data as
// 32-bit words, LINK_TRACE and PLAQUETTE are means over the lattice.
//
// Rank 0 alone opens the file and hands each rank its part. The nodes of a mesh without a switch
// often share no file system, and one reader means one opinion on a damaged file. It holds one
// plane of x and y at a time.
//
// The functions marked collective are called by all ranks; whatever is wrong with the file becomes
// the same InputError on all of them, with the file, the header's line, what was found and what was
// expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gauge.h"
#include "lattice.h"

namespace wilson {

// Trivially copyable: rank 0 broadcasts it.
struct NerscHeader {
    Coord extent;
    int rows;        // 2 or 3 rows of each link are stored
    int word_bytes;  // 4 or 8: single or double precision
    bool big_endian;
    std::uint32_t checksum;
    double link_trace, plaquette;
    std::uint64_t data_offset;  // the links begin here, just after the line END_HEADER
    struct {
        int extent, checksum, link_trace, plaquette, floating_point;
    } line;  // where each was said, for messages

    std::uint64_t site_bytes() const { return 4u * rows * 3u * 2u * word_bytes; }
    std::uint64_t data_bytes() const;
};

// How far plaquette and link trace may be from the header's: it was computed elsewhere, often in
// single precision.
inline constexpr double nersc_tolerance = 1e-6;

// Reads a header from the first bytes of a file. `path` is for messages only. Throws InputError.
// Not collective.
NerscHeader parse_nersc_header(std::string_view text, const std::string& path);

// Reads the header and compares the file's length with it. Collective.
NerscHeader read_nersc_header(const std::string& path);

// Reads the links and checks the checksum. The lattice must have the header's extent. Collective.
void read_nersc_links(const std::string& path, const NerscHeader& header, const Lattice& lattice,
                      GaugeField& field);

// Compares what was measured with what the header says. Same arguments on all ranks; throws
// InputError on all.
void check_nersc(const std::string& path, const NerscHeader& header, double plaquette,
                 double link_trace);

}  // namespace wilson
