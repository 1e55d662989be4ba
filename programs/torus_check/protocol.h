// SPDX-License-Identifier: BSD-3-Clause
// The protocol between torus-check and its probes over the agents' pipes, in lines of words.
//
//   torus-check to probe                probe to torus-check
//                                       torus-check-probe VERSION
//   job ... device ... start
//                                       the host's facts (config/network.h)
//                                       ready
// and then, as often as wanted:
//   send ROUND ...
//                                       sending-done
//   report
//                                       sent ... heard ... counted ... end
//   push ...
//                                       pushed ...
// Both sides check what they read. Plain values; any thread may call.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/link_counters.h"
#include "config/network.h"
#include "programs/torus_run/streams/cable_probe.h"

namespace torusmp::torus_check {

using torus_run::decode;
using torus_run::device_socket;
using torus_run::encode;
using torus_run::format_nonce;
using torus_run::Identity;
using torus_run::Nonce;
using torus_run::parse_nonce;
using torus_run::ProbePacket;
using torus_run::random_nonce;

class ProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Job {
    Nonce nonce{};
    int node = 0, nodes = 1;
    int port = 0;                      // of UDP, the same on all hosts
    bool routes = false;               // facts with routing tables
    std::string geometry;              // path of the file, to compare; may be empty
    std::vector<std::string> devices;  // to send on; if empty, all that are up
};

// Probes to send, all hosts at the same time.
struct Round {
    int number = 0;                    // from 0; probes of other rounds are not counted
    int small = 0;                     // on each device
    int large = 0;                     // of the size of its MTU
    bool all = true;                   // on all devices of the job
    std::vector<std::string> devices;  // otherwise on these
    friend bool operator==(const Round&, const Round&) = default;
};
inline constexpr int most_rounds = 1024, most_probes = 1 << 20;

// Packets sent on a device.
struct Sent {
    std::string device;
    int small = 0, large = 0;
    int large_bytes = 0;  // IP packet
    int overflow = 0;     // packets that arrived but that the host was too slow to receive
    std::string trouble;  // why less was sent; empty if all was
    friend bool operator==(const Sent&, const Sent&) = default;
};

// Packets received on a device from one other end.
struct Heard {
    std::string device;
    int node = 0;
    std::string from;
    int small = 0, large = 0;  // without duplicates
    friend bool operator==(const Heard&, const Heard&) = default;
};

// The kernel's counters of a device.
struct Counted {
    std::string device;
    base::LinkCounters counters;
    friend bool operator==(const Counted&, const Counted&) = default;
};

struct ProbeReport {
    std::vector<Sent> sent;
    std::vector<Heard> heard;
    std::vector<Counted> counted;
    friend bool operator==(const ProbeReport&, const ProbeReport&) = default;
};

// Bytes to send over a cable in one direction, by one TCP connection from device to device.
struct Push {
    int id = 0;
    std::string device;
    int node = 0;     // the far end, which must have been heard on the device
    std::string far;  // its device
    // Ends when all bytes are sent or after `most`, but not before `least`.
    std::uint64_t bytes = 0, least = 0;
    std::chrono::milliseconds time{0};
    std::string ipv4{};  // address of the far device; empty: the one from which a probe came
    friend bool operator==(const Push&, const Push&) = default;
};

struct Pushed {
    int id = 0;
    std::uint64_t bytes = 0;                  // confirmed by the other end
    std::chrono::microseconds time{0};        // until they were confirmed
    std::chrono::microseconds round_trip{0};  // the shortest that the kernel saw; zero: none
    int segments = 0;
    int again = 0;        // segments that had to be sent again
    std::string trouble;  // why nothing was measured; empty after a measurement
    friend bool operator==(const Pushed&, const Pushed&) = default;
};

inline constexpr std::string_view hello_word = "torus-check-probe";

std::string format_job(const Job& job);
// Parses one line; returns true for the last one. Throws ProtocolError.
bool parse_job_line(std::string_view line, Job& job);

std::string format_round(const Round& round);
Round parse_round(std::string_view line);

std::string format_push(const Push& push);
Push parse_push(std::string_view line, int nodes);
std::string format_pushed(const Pushed& pushed);
Pushed parse_pushed(std::string_view line);

std::string format_report(const ProbeReport& report);
bool parse_report_line(std::string_view line, int nodes, ProbeReport& report);

}  // namespace torusmp::torus_check
