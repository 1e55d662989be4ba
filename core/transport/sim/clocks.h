// SPDX-License-Identifier: BSD-3-Clause
// Time in a simulated world that models a machine: the costs of its links and processors, after
// LogGP (Alexandrov, Ionescu, Schauser, Scheiman, 1995), and how long each processor is busy.
//
// A rank is an interface here. Its processor sends and takes packets one after another; a link
// carries one packet after another in each direction. Credits that return alone take time on the
// link but no processor time, since transports send them with other packets if they can.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace torusmp::transport::sim {

using Time = std::chrono::nanoseconds;  // virtual; since the World was made

// All times in nanoseconds. A packet of n bytes that finds everything idle arrives at the program
// of the neighbour after
//   send_overhead + n send_per_byte + (n + header_bytes) gap_per_byte + latency
//     + receive_overhead + n receive_per_byte.
struct LinkModel {
    double latency = 0;           // L: from leaving the link's sending end to the receiver
    double send_overhead = 0;     // o: processor, for each packet or remote write
    double receive_overhead = 0;  // the same at its other end
    double send_per_byte = 0;     // processor: copies; remote writes do not need it
    double receive_per_byte = 0;
    double gap = 0;                // g: least time between the starts of two packets on a link
    double gap_per_byte = 0;       // G: of a link
    double reserve = 0;            // bytes that an idle link passes immediately, for a shaped link
    double node_gap_per_byte = 0;  // of all links of a node together: its bus
    double forward = 0;            // processor: a packet that is only forwarded, in and out
    double forward_per_byte = 0;
    std::size_t header_bytes = 0;  // bytes of a packet on the link besides its payload
    bool interrupts = false;       // packets are handled while the program computes
    int cores = 0;                 // shared by all ranks; 0 for one each
    double wake = 0;               // time in which a shared core switches to another rank
};

namespace detail {

class Clocks {
  public:
    explicit Clocks(const LinkModel& model);

    const LinkModel& model() const { return model_; }

    // When this rank's processor can do more work.
    Time cursor(std::size_t rank, Time now) const;
    // When its program continues.
    Time resumes(std::size_t rank, Time now) const;
    // Its program computes for that long.
    void compute(std::size_t rank, Time now, double time);

    // A packet or remote write leaves over a link. Returns when its last byte has left. `line` is
    // the time until which the link is occupied, or has its reserve back.
    Time leaves(std::size_t rank, Time now, Time& line, std::size_t bytes, bool passes,
                bool copied);
    Time arrives(Time left) const;

    // Passes a packet to this rank: it is charged when the rank next does something, unless it is
    // only forwarded or could not be taken.
    void hand_over(std::size_t rank, std::size_t bytes);
    void take(std::size_t rank, Time now);  // the packet is finished
    void hold(std::size_t rank);

    // An event has occurred at this rank. `now` means that it can handle the event; otherwise it is
    // busy or has no core, and must be asked again at that time, unless that is already planned.
    struct Turn {
        bool now = false;
        std::optional<Time> ask_again;
    };
    Turn turn(std::size_t rank, Time now);

  private:
    struct Processor {
        Time busy{0};       // until when, with packets or computing
        Time computing{0};  // until when, if packets interrupt it
        Time bus{0};
        double owed = 0;  // for the packet that is being passed over
        Time asks_at{-1};
    };
    struct CoreOf {
        Time free{0};
        std::size_t rank = std::size_t(-1);
    };
    Processor& at(std::size_t rank);
    void spend(Processor& processor, Time now, double time);
    void charge(Processor& processor, Time now);

    LinkModel model_;
    std::vector<Processor> processors_;  // by rank
    std::vector<CoreOf> cores_;
    std::optional<std::size_t> running_;  // core of the rank that had the last turn
};

}  // namespace detail
}  // namespace torusmp::transport::sim
