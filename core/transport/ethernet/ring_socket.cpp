// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/ring_socket.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace torusmp::transport::ethernet {
namespace {

constexpr unsigned block_bytes = 64u << 10;

[[noreturn]] void refuse(const char* what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

}  // namespace

RingSocket::RingSocket(base::Descriptor socket, unsigned frames)
    : socket_(std::move(socket)), bytes_(frames * frame_room), mask_(frames - 1) {
    const int version = TPACKET_V2;
    if (setsockopt(socket_.get(), SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0)
        refuse("PACKET_VERSION");
    tpacket_req ring{};
    ring.tp_block_size = block_bytes;
    ring.tp_frame_size = frame_room;
    ring.tp_frame_nr = frames;
    ring.tp_block_nr = unsigned(bytes_ / block_bytes);
    if (setsockopt(socket_.get(), SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) != 0)
        refuse("PACKET_RX_RING");
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, socket_.get(), 0);
    if (memory == MAP_FAILED) refuse("mapping the receive ring");
    ring_ = static_cast<std::byte*>(memory);
}

RingSocket::~RingSocket() {
    munmap(ring_, bytes_);
}

bool RingSocket::send(const std::byte* frame, std::size_t bytes) const {
    return ::send(socket_.get(), frame, bytes, MSG_DONTWAIT) == ssize_t(bytes);
}

bool RingSocket::send_by(unsigned device, const std::byte* frame, std::size_t bytes) const {
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = int(device);
    std::memcpy(&to.sll_protocol, frame + ethernet_header_bytes - sizeof to.sll_protocol,
                sizeof to.sll_protocol);
    return ::sendto(socket_.get(), frame, bytes, MSG_DONTWAIT,
                    reinterpret_cast<const sockaddr*>(&to), sizeof to) == ssize_t(bytes);
}

unsigned RingSocket::dropped() const {
    tpacket_stats counts{};
    socklen_t length = sizeof counts;
    if (getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &counts, &length) != 0) return 0;
    return counts.tp_drops;
}

}  // namespace torusmp::transport::ethernet
