// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/common/crc32c.h"

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstring>

#if TORUSMP_HAS_ISAL
#include <isa-l/crc.h>
#endif
#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace torusmp::transport {
namespace crc32c_ways {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // reflected
constexpr std::size_t word = sizeof(std::uint64_t);
using Tables = std::array<std::array<std::uint32_t, 256>, word>;

// tables[k][b]: the contribution of byte b to the checksum with k bytes after it.
constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t sum = b;
        for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
        tables[0][b] = sum;
    }
    for (std::size_t k = 1; k < word; ++k)
        for (std::size_t b = 0; b < 256; ++b)
            tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
    return tables;
}

constexpr Tables tables = make_tables();

}  // namespace

std::uint32_t by_tables(const void* data, std::size_t bytes, std::uint32_t before) {
    static_assert(std::endian::native == std::endian::little);
    std::uint32_t sum = ~before;
    const auto* from = static_cast<const unsigned char*>(data);
    for (; bytes >= word; bytes -= word, from += word) {
        std::uint64_t value = 0;
        std::memcpy(&value, from, word);
        value ^= sum;
        sum = 0;
        for (std::size_t k = 0; k < word; ++k) sum ^= tables[word - 1 - k][value >> (8 * k) & 0xff];
    }
    for (; bytes != 0; --bytes, ++from) sum = (sum >> 8) ^ tables[0][(sum ^ *from) & 0xff];
    return ~sum;
}

#if defined(__x86_64__)

bool has_instruction() {
    return __builtin_cpu_supports("sse4.2");
}

namespace {

[[gnu::target("sse4.2")]] std::uint32_t take_word(std::uint32_t sum, std::uint64_t value) {
    return std::uint32_t(_mm_crc32_u64(sum, value));
}
[[gnu::target("sse4.2")]] std::uint32_t take_byte(std::uint32_t sum, unsigned char byte) {
    return _mm_crc32_u8(sum, byte);
}

}  // namespace

#define TORUSMP_WITH_CRC [[gnu::target("sse4.2")]]

#elif defined(__aarch64__)

bool has_instruction() {
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

namespace {

[[gnu::target("+crc")]] std::uint32_t take_word(std::uint32_t sum, std::uint64_t value) {
    return __builtin_aarch64_crc32cx(sum, value);
}
[[gnu::target("+crc")]] std::uint32_t take_byte(std::uint32_t sum, unsigned char byte) {
    return __builtin_aarch64_crc32cb(sum, byte);
}

}  // namespace

#define TORUSMP_WITH_CRC [[gnu::target("+crc")]]

#endif

#ifdef TORUSMP_WITH_CRC

// One loop that contains the instruction: a call for each word would cost more than the checksum.
TORUSMP_WITH_CRC std::uint32_t by_instruction(const void* data, std::size_t bytes,
                                              std::uint32_t before) {
    std::uint32_t sum = ~before;
    const auto* from = static_cast<const unsigned char*>(data);
    for (; bytes >= word; bytes -= word, from += word) {
        std::uint64_t value = 0;
        std::memcpy(&value, from, word);
        sum = take_word(sum, value);
    }
    for (; bytes != 0; --bytes, ++from) sum = take_byte(sum, *from);
    return ~sum;
}

#else

bool has_instruction() {
    return false;
}

std::uint32_t by_instruction(const void* data, std::size_t bytes, std::uint32_t before) {
    return by_tables(data, bytes, before);
}

#endif

}  // namespace crc32c_ways

#if TORUSMP_HAS_ISAL

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before) {
    // The library leaves the inversions at both ends to its caller.
    std::uint32_t crc = ~before;
    auto* from = static_cast<unsigned char*>(const_cast<void*>(data));  // it is only read
    for (std::size_t left = bytes; left != 0;) {
        const auto piece = std::min<std::size_t>(left, INT_MAX);
        crc = crc32_iscsi(from, int(piece), crc);
        from += piece;
        left -= piece;
    }
    return ~crc;
}

#else

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before) {
    static const bool instruction = crc32c_ways::has_instruction();
    return instruction ? crc32c_ways::by_instruction(data, bytes, before)
                       : crc32c_ways::by_tables(data, bytes, before);
}

#endif

}  // namespace torusmp::transport
