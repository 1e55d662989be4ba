// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/frame.h"

#include <sodium.h>

#include <cstring>
#include <vector>

#include "core/transport/common/crc32c.h"
#include "core/transport/common/secret.h"

namespace torusmp::transport::ethernet {
namespace {

constexpr std::size_t behind_tag = offsetof(FrameHeader, session);
constexpr std::size_t behind_checksum = offsetof(FrameHeader, number);

std::uint32_t checksum_of(const std::byte* frame, std::size_t bytes) {
    return crc32c(frame + behind_checksum, bytes - behind_checksum);
}

}  // namespace

Seal::Seal(const Secret& secret, const Greeting& sender, const Greeting& receiver) {
    static_assert(crypto_shorthash_KEYBYTES == 16 && crypto_shorthash_BYTES == 8);
    static constexpr char purpose[] = "frames over Ethernet";
    std::vector<std::byte> said(sizeof purpose + 2 * sizeof(Greeting));
    std::memcpy(said.data(), purpose, sizeof purpose);
    std::memcpy(said.data() + sizeof purpose, &sender, sizeof sender);
    std::memcpy(said.data() + sizeof purpose + sizeof sender, &receiver, sizeof receiver);
    const Proof derived = prove(secret, said);
    std::memcpy(key_.data(), derived.data(), key_.size());
}

std::uint64_t Seal::tag_of(const std::byte* frame, std::size_t bytes) const {
    std::uint64_t tag = 0;
    crypto_shorthash(reinterpret_cast<unsigned char*>(&tag),
                     reinterpret_cast<const unsigned char*>(frame) + behind_tag, bytes - behind_tag,
                     key_.data());
    return tag;
}

void Seal::close(std::byte* frame) const {
    FrameHeader header;
    std::memcpy(&header, frame, sizeof header);
    const std::size_t bytes = sizeof header + header.length;
    const std::uint32_t checksum = checksum_of(frame, bytes);
    std::memcpy(frame + offsetof(FrameHeader, checksum), &checksum, sizeof checksum);
    const std::uint64_t tag = tag_of(frame, bytes);
    std::memcpy(frame, &tag, sizeof tag);
}

Seal::Finding Seal::check(const std::byte* frame, std::size_t bytes, std::uint32_t session) const {
    if (bytes < sizeof(FrameHeader)) return Finding::malformed;
    FrameHeader header;
    std::memcpy(&header, frame, sizeof header);
    if (header.length > bytes - sizeof header || header.length % 8 != 0 ||
        header.session != session || header.version != frame_version || header.kind > Kind::again)
        return Finding::malformed;
    const std::size_t whole = sizeof header + header.length;
    if (header.checksum != checksum_of(frame, whole)) return Finding::damaged;
    return header.tag == tag_of(frame, whole) ? Finding::sound : Finding::forged;
}

}  // namespace torusmp::transport::ethernet
