#include "core/transport/tcp/frame.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <climits>

namespace torusmp::transport::tcp {

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t before) {
    // The library leaves the inversions at both ends to its caller.
    std::uint32_t crc = ~before;
    auto* from = static_cast<unsigned char*>(const_cast<void*>(data));  // it only reads
    for (std::size_t left = bytes; left != 0;) {
        const auto piece = std::min<std::size_t>(left, INT_MAX);
        crc = crc32_iscsi(from, int(piece), crc);
        from += piece;
        left -= piece;
    }
    return ~crc;
}

std::uint32_t checksum_of(const PacketHeader& header, const std::byte* payload) {
    PacketHeader fixed = header;
    fixed.stamp = 0;
    fixed.grants = 0;
    fixed.slot_class = 0;
    fixed.place = 0;
    fixed.hops = 0;
    return crc32c(payload, header.length, crc32c(&fixed, sizeof fixed));
}

std::uint32_t checksum_of(const PacketHeader& header) {
    return crc32c(&header, sizeof header);
}

}  // namespace torusmp::transport::tcp
