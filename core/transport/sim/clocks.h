// SPDX-License-Identifier: BSD-3-Clause
// Time in a simulated world that stands for a machine: what its links and processors take, after
// LogGP (Alexandrov, Ionescu, Schauser, Scheiman, 1995), and whose processor is busy until when.
//
// A rank is an interface here. Its processor sends and takes packets one after the other; a link
// carries one packet after the other each way. Credits that go back alone take their time on the
// way and nobody's processor, since transports send them along with other packets where they can.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace torusmp::transport::sim {

using Time = std::chrono::nanoseconds;  // virtual, since the World was made

// All times in nanoseconds. A packet of n bytes that finds everything idle arrives at the program
// of the neighbour after
//   send_overhead + n send_per_byte + (n + header_bytes) gap_per_byte + latency
//     + receive_overhead + n receive_per_byte.
struct LinkModel {
    double latency = 0;           // L: from leaving the link's sending end to the receiver
    double send_overhead = 0;     // o: processor, for each packet or remote write
    double receive_overhead = 0;  // and at its other end
    double send_per_byte = 0;     // processor: copies; remote writes go without
    double receive_per_byte = 0;
    double gap = 0;                // g: between the beginnings of two packets on a link, at least
    double gap_per_byte = 0;       // G: of a link
    double reserve = 0;            // bytes that a rested link lets pass at once: a shaped link's
    double node_gap_per_byte = 0;  // of all links of a node together: its bus
    double forward = 0;            // processor: a packet that only passes, in and out
    double forward_per_byte = 0;
    std::size_t header_bytes = 0;  // what a packet has on the link beside its payload
    bool interrupts = false;       // packets are handled while the program computes
    int cores = 0;                 // that all ranks share; 0: one for each
    double wake = 0;               // what it takes a shared core to turn to another rank
};

namespace detail {

class Clocks {
  public:
    explicit Clocks(const LinkModel& model);

    const LinkModel& model() const { return model_; }

    // When this rank's processor could do something more.
    Time cursor(std::size_t rank, Time now) const;
    // When its program goes on.
    Time resumes(std::size_t rank, Time now) const;
    // Its program computes for so long.
    void compute(std::size_t rank, Time now, double time);

    // A packet or remote write leaves over a link: when its last byte has left. line: until when
    // that link is taken, or has its reserve back.
    Time leaves(std::size_t rank, Time now, Time& line, std::size_t bytes, bool passes,
                bool copied);
    Time arrives(Time left) const;

    // A packet is handed to this rank: it is charged when the rank next does something, unless it
    // only passes or could not be taken.
    void hand_over(std::size_t rank, std::size_t bytes);
    void take(std::size_t rank, Time now);  // nothing more is done with it
    void hold(std::size_t rank);

    // Something has happened at this rank. now: it looks at it. Else it is busy, or has no core,
    // and is asked again at that time, unless it is anyway.
    struct Turn {
        bool now = false;
        std::optional<Time> ask_again;
    };
    Turn turn(std::size_t rank, Time now);

  private:
    struct Processor {
        Time busy{0};       // until then, with packets or computing
        Time computing{0};  // until then, where packets interrupt that
        Time bus{0};
        double owed = 0;  // for the packet that is being handed over
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
    std::optional<std::size_t> running_;  // core of the rank whose turn it was last
};

}  // namespace detail
}  // namespace torusmp::transport::sim
