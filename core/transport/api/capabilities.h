// SPDX-License-Identifier: BSD-3-Clause
// What a transport can do, as data: core reads these, and nobody asks which transport it is.
#pragma once

#include <cstddef>

namespace torusmp::transport {

struct Capabilities {
    // Peers may read exposed memory. If not, only memory that they shall write to has to be
    // exposed.
    bool reads = false;
    // A read is complete on return, never pending, so that one read can be made of many.
    bool reads_at_once = false;
    // Peers reach memory from Interface::allocate() by plain loads and stores: Channel::map().
    bool maps = false;
    // A write can tell the other end when it has arrived.
    bool notifies = false;
    // Packets can leave their payload in the peer's memory: Channel::send_placed().
    bool places = false;
    // Two links to the same peer carry twice as much as one. Then write() never refuses what
    // can_write() has allowed, because half of the message may be under way over the other link.
    bool separate_links = false;
    // poll() makes a system call, so it costs more than reading the clock.
    bool polls_kernel = false;
    // A link that went down can be connected again, by both ends: connect() then waits for as long
    // as the cable takes to come back.
    bool reconnects = false;
    // So can a connection to a rank without a link, whichever end wants it: ChannelOptions::renews.
    bool renews = false;
    // How many pieces of local memory one write can gather, or read scatter.
    std::size_t most_pieces = 1;
};

}  // namespace torusmp::transport
