// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (RFC 3720, appendix B.4): by ISA-L if the build has it, else by the processor's
// instruction if it has one, else by tables. Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torusmp::transport {

// The checksum continued over `bytes` more bytes; `before` is the checksum of the bytes before
// them.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before = 0);

// The variants without the library: by the instruction, which the processor must have, and by
// tables.
namespace crc32c_ways {
bool has_instruction();
std::uint32_t by_instruction(const void* data, std::size_t bytes, std::uint32_t before);
std::uint32_t by_tables(const void* data, std::size_t bytes, std::uint32_t before);
}  // namespace crc32c_ways

}  // namespace torusmp::transport
