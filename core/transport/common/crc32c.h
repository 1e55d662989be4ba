// CRC-32C (RFC 3720, appendix B.4): by a library where the build has one, else by the processor's
// own instruction where it has one, else by tables. Any thread may call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace torusmp::transport {

// Over `bytes` more, `before` being the sum of what stands in front of them.
std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before = 0);

// The same without a library: by the instruction, which is to be there, and by tables.
namespace crc32c_ways {
bool has_instruction();
std::uint32_t by_instruction(const void* data, std::size_t bytes, std::uint32_t before);
std::uint32_t by_tables(const void* data, std::size_t bytes, std::uint32_t before);
}  // namespace crc32c_ways

}  // namespace torusmp::transport
