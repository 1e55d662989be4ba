// SPDX-License-Identifier: BSD-3-Clause
// The links of a gauge configuration in a file: the code shared by all formats.
//
// The links are stored site by site: x runs fastest, then y, z, t; at each site the four
// directions; for each link two or three rows of complex numbers.
//
// read_links(): only rank 0 opens the file and sends each rank its part. The nodes of a mesh
// without a switch often share no file system, and with one reader all ranks agree on whether a
// file is damaged. Rank 0 holds one plane of x and y at a time.
//
// The functions marked collective are called by all ranks; an error in the file becomes the same
// InputError on all of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "gauge.h"
#include "halo.h"
#include "lattice.h"

namespace wilson {

// Trivially copyable: rank 0 broadcasts it as part of a header.
struct GaugeData {
    Coord extent;
    int rows;        // of each link, 2 or 3; the third follows from the first two
    int word_bytes;  // 4 for single precision, 8 for double
    bool big_endian;
    std::uint64_t data_offset;  // bytes in the file before the first link

    std::uint64_t site_bytes() const { return 4u * rows * 3u * 2u * word_bytes; }
    std::uint64_t data_bytes() const;
};

// Called with the bytes of each site of this rank as stored in the file, and the site's global
// index.
using SiteVisitor = std::function<void(std::span<const std::byte> site, std::int64_t index)>;

// One site in the file to numbers, and back. `bytes` has GaugeData::site_bytes().
void decode_site(const GaugeData& data, std::span<const std::byte> bytes, GaugeField::Site& site);
void encode_site(const GaugeData& data, const GaugeField::Site& site, std::span<std::byte> bytes);

// A function that reads the links, called by all ranks: read_links, or another with its contract.
using LinkReader =
    std::function<void(const std::string& path, const GaugeData& data, const Lattice& lattice,
                       GaugeField& field, const SiteVisitor& visit)>;

// Reads the links. The lattice must have the extent of the data. Collective.
void read_links(const std::string& path, const GaugeData& data, const Lattice& lattice,
                GaugeField& field, const SiteVisitor& visit);

// A regular file, open for reading, and its length in bytes. Throws InputError. Not collective.
struct OpenedFile {
    std::ifstream stream;
    std::uint64_t bytes;
};
OpenedFile open_regular(const std::string& path);

// Runs `read` on rank 0, and gives its header, or its InputError, to all ranks. Collective.
template <class Header, class Read>
Header on_all_ranks(Read&& read) {
    static_assert(std::is_trivially_copyable_v<Header>);
    Header header{};
    std::string trouble;
    if (QMP_get_node_number() == 0) {
        try {
            header = read();
        } catch (const InputError& error) {
            trouble = error.what();
        }
    }
    agree(trouble);
    check(QMP_broadcast(&header, sizeof header), "QMP_broadcast");
    return header;
}

// Converts between the byte orders of this machine and the file.
template <class Word>
Word in_order(Word word, bool big_endian) {
    if (big_endian == (std::endian::native == std::endian::big)) return word;
    if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
    if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
    if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
}

// An unsigned number of the file.
template <class Word>
Word word_at(const std::byte* bytes, bool big_endian) {
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    return in_order(word, big_endian);
}

// Quotes text from a file: bytes that are not text are escaped, and long lines are cut.
std::string in_quotes(std::string_view text);

}  // namespace wilson
