// What a transport can do, as data: core asks these, and nobody asks which transport it is.
#pragma once

#include <cstddef>

namespace torusmp::transport {

struct Capabilities {
    // Whether peers may ever read what is exposed; where not, only what they shall write needs to
    // be.
    bool reads = false;
    // A read is done when it returns, never pending, so that it can be made of many.
    bool reads_at_once = false;
    // A write can tell the other end when it has arrived.
    bool notifies = false;
    // Packets can leave their payload in the peer's memory: Channel::send_placed().
    bool places = false;
    // Two links to the same peer carry twice as much as one. Then write() never refuses what
    // can_write() has allowed, because a message may be half under way over the other.
    bool separate_links = false;
    // poll() asks the kernel, so it costs more than looking at the clock does.
    bool polls_kernel = false;
    // How many pieces of local memory one write can gather, or read scatter.
    std::size_t most_pieces = 1;
};

}  // namespace torusmp::transport
