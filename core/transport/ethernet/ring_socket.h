// SPDX-License-Identifier: BSD-3-Clause
// A packet socket (packet(7)) for the frames of one session, with a receive ring in mapped memory:
// receiving is reading a status word, sending is one system call.
//
// The ring is TPACKET_V2: version 3 passes frames in blocks, by a timer, which costs latency.
//
// Owned by an EthernetChannel and used under the Runtime's lock.
#pragma once

#include <linux/if_packet.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/descriptor.h"
#include "core/transport/ethernet/frame.h"

namespace torusmp::transport::ethernet {

class RingSocket {
  public:
    // Maps a ring for `frames` frames, a power of two. Throws std::runtime_error.
    RingSocket(base::Descriptor socket, unsigned frames);
    ~RingSocket();
    RingSocket(const RingSocket&) = delete;
    RingSocket& operator=(const RingSocket&) = delete;

    int descriptor() const { return socket_.get(); }
    // Calls take(data after `headers` bytes, bytes) for each frame that has arrived, for at most
    // `most` frames.
    template <class Take>
    void drain(int most, std::size_t headers, Take&& take) {
        for (; most > 0; --most) {
            std::byte* const slot = ring_ + (next_ & mask_) * frame_room;
            auto& header = *reinterpret_cast<tpacket2_hdr*>(slot);
            std::atomic_ref<std::uint32_t> status(header.tp_status);
            if ((status.load(std::memory_order_acquire) & TP_STATUS_USER) == 0) return;
            ++next_;
            if (header.tp_snaplen >= headers)
                take(slot + header.tp_mac + headers, header.tp_snaplen - headers);
            status.store(TP_STATUS_KERNEL, std::memory_order_release);
        }
    }
    // Returns false if the device did not accept the frame.
    bool send(const std::byte* frame, std::size_t bytes) const;
    // Sends by this device, for a socket that is bound to none.
    bool send_by(unsigned device, const std::byte* frame, std::size_t bytes) const;
    // The number of frames lost for lack of room in the ring since the last call.
    unsigned dropped() const;

  private:
    static constexpr std::size_t frame_room = 2048;

    base::Descriptor socket_;
    std::byte* ring_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t mask_ = 0;
    std::size_t next_ = 0;
};

}  // namespace torusmp::transport::ethernet
