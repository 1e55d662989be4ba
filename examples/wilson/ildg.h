// SPDX-License-Identifier: BSD-3-Clause
// Gauge configurations in ILDG format.
//
// A file is a sequence of LIME records: a header of 144 bytes (magic number, version, flags, length
// and type, all big-endian), and the data, padded to a multiple of 8 bytes. Two records are used
// here: `ildg-format`, XML with the extents and the precision, and `ildg-binary-data`, the links
// (gauge_file.h): three rows of each, big-endian. `scidac-checksum`, if present, is verified:
// CRC-32 of each site, rotated by the site's index modulo 29 (suma) and 31 (sumb), all combined by
// exclusive or.
// Errors and collective calls are as in nersc.h; errors name the byte offset of the record.
#pragma once

#include <cstdint>
#include <string>

#include "gauge_file.h"

namespace wilson {

// Trivially copyable: rank 0 broadcasts it.
struct IldgHeader : GaugeData {
    bool has_checksum;
    std::uint32_t suma, sumb;
};

inline constexpr std::uint32_t lime_magic = 0x456789ab;
inline constexpr std::uint64_t lime_header_bytes = 144, lime_type_bytes = 128;

// The two words of scidac-checksum.
struct SiteSums {
    std::uint32_t suma = 0, sumb = 0;
    void add(std::span<const std::byte> site, std::int64_t index);
    void combine();  // over all ranks; collective
    bool operator==(const SiteSums&) const = default;
};

// Whether the file begins with a LIME record. Throws InputError if it cannot be read. Collective.
bool is_lime(const std::string& path);

// Reads the records and compares their lengths with the extents. Collective.
IldgHeader read_ildg_header(const std::string& path);

// Reads the links and verifies the checksum. The lattice must have the header's extent. Collective.
void read_ildg_links(const std::string& path, const IldgHeader& header, const Lattice& lattice,
                     GaugeField& field, const LinkReader& read = read_links);

}  // namespace wilson
