// SPDX-License-Identifier: BSD-3-Clause
// Writes ILDG files, for the tests of the reader. One process, which holds the whole lattice.
//
// CRC-32 is computed bit by bit here, so that the test does not take it from the code it tests.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>

#include "nersc_writer.h"

namespace wilson::test {

inline std::uint32_t slow_crc32(const std::string& bytes) {
    std::uint32_t crc = 0xffffffff;
    for (const char c : bytes) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

struct LimeFlags {
    bool begins = false, ends = false;  // a message
};

// A record: header of 144 bytes, data, zeros up to a multiple of 8 bytes.
inline std::string lime_record(const std::string& type, const std::string& data,
                               const LimeFlags& flags = {}) {
    std::string record;
    append_word(record, std::uint32_t{0x456789ab}, true);
    append_word(record, std::uint16_t{1}, true);
    append_word(record, static_cast<std::uint16_t>(flags.begins << 15 | flags.ends << 14), true);
    append_word(record, std::uint64_t{data.size()}, true);
    record += type + std::string(128 - type.size(), '\0') + data;
    return record + std::string((8 - data.size() % 8) % 8, '\0');
}

inline std::string ildg_format(const Coord& extent, int bits) {
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<ildgFormat xmlns=\"http://www.lqcd.org/ildg\">\n"
        "  <version> 1.0 </version>\n  <field> su3gauge </field>\n"
        "  <precision> {} </precision>\n"
        "  <lx> {} </lx> <ly> {} </ly> <lz> {} </lz> <lt> {} </lt>\n</ildgFormat>\n",
        bits, extent[0], extent[1], extent[2], extent[3]);
}

inline std::string ildg_checksum(const std::string& data, std::size_t sites) {
    std::uint32_t suma = 0, sumb = 0;
    const std::size_t bytes = data.size() / sites;
    for (std::size_t site = 0; site < sites; ++site) {
        const std::uint32_t crc = slow_crc32(data.substr(site * bytes, bytes));
        suma ^= std::rotl(crc, static_cast<int>(site % 29));
        sumb ^= std::rotl(crc, static_cast<int>(site % 31));
    }
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><scidacChecksum><version>1.0</version>"
        "<suma>{:x}</suma><sumb>{:x}</sumb></scidacChecksum>",
        suma, sumb);
}

// A whole file, with records that a reader must skip before and after those it needs.
inline std::string ildg_file(const GaugeField& field, const Lattice& lattice, int bits) {
    std::uint32_t not_used;
    const std::string data = nersc_data(field, lattice, {3, bits / 8, true}, not_used);
    return lime_record("scidac-private-file-xml", "<file/>", {true, true}) +
           lime_record("ildg-format", ildg_format(lattice.extent(), bits), {true, false}) +
           lime_record("ildg-binary-data", data) +
           lime_record("scidac-checksum",
                       ildg_checksum(data, static_cast<std::size_t>(lattice.volume()))) +
           lime_record("ildg-data-lfn", "lfn://test", {false, true});
}

}  // namespace wilson::test
