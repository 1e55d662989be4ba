// SPDX-License-Identifier: BSD-3-Clause
// A transport's capabilities, as data: core reads these and never asks which transport it is.
#pragma once

#include <cstddef>

namespace torusmp::transport {

struct Capabilities {
    // Peers may read exposed memory. If not, only memory that they write to must be exposed.
    bool reads = false;
    // A read without a cookie is complete on return and never pending, so a message can be read by
    // several reads.
    bool reads_at_once = false;
    // Peers reach memory from Interface::allocate() by plain loads and stores: Channel::map().
    bool maps = false;
    // A write can notify the other end of its arrival.
    bool notifies = false;
    // Packets can place their payload in the peer's memory: Channel::send_placed().
    bool places = false;
    // Two links to the same peer have twice the bandwidth of one. Then write() never refuses what
    // can_write() has allowed, because a part of the message may already be in flight over another
    // link.
    bool separate_links = false;
    // poll() makes a system call, so it costs more than reading the clock.
    bool polls_kernel = false;
    // A link that went down can be connected again by both ends: connect() then waits for the
    // cable, however long it takes to return.
    bool reconnects = false;
    // A connection to a rank without a link can also be connected again, by either end:
    // ChannelOptions::renews.
    bool renews = false;
    // The number of pieces of local memory that one write can gather, or one read scatter.
    std::size_t most_pieces = 1;
};

}  // namespace torusmp::transport
