// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/tcp/frame.h"

#include "core/transport/common/crc32c.h"

namespace torusmp::transport::tcp {

std::uint32_t checksum_of(const PacketHeader& header, ConstBytes front, ConstBytes payload) {
    PacketHeader fixed = header;
    fixed.stamp = 0;
    fixed.grants = 0;
    fixed.virtual_channel = 0;
    fixed.transport_byte = 0;
    fixed.hops = 0;
    const std::uint32_t before = crc32c(&fixed, sizeof fixed);
    return crc32c(payload.data(), payload.size(), crc32c(front.data(), front.size(), before));
}

std::uint32_t checksum_of(const PacketHeader& header) {
    return crc32c(&header, sizeof header);
}

}  // namespace torusmp::transport::tcp
