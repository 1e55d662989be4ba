// What torus-check and its probes say to each other over the agents' pipes, in lines of words.
//
//   torus-check to probe                probe to torus-check
//                                       torus-check-probe VERSION
//   job ... device ... start
//                                       the host's facts (config/network.h)
//                                       ready
//   send
//                                       sending-done
//   report
//                                       sent ... heard ... end
// Both sides check what they read. Plain values; any thread may call.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/network.h"
#include "programs/torus_check/probe_packet.h"

namespace torusmp::check {

class ProtocolError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Job {
    Nonce nonce{};
    int node = 0, nodes = 1;
    int port = 0;                      // of UDP, the same on all hosts
    int small_probes = 0;              // to send on each device
    int large_probes = 0;              // of the size of its MTU
    bool routes = false;               // facts with routing tables
    std::string geometry;              // path of the file, to compare; empty: none
    std::vector<std::string> devices;  // to send on; empty: all that are up
};

// What went out on a device.
struct Sent {
    std::string device;
    int small = 0, large = 0;
    int large_bytes = 0;  // IP packet
    int overflow = 0;     // that arrived, but that the host was too slow to take
    std::string trouble;  // why less was sent; empty: all was sent
    friend bool operator==(const Sent&, const Sent&) = default;
};

// What came in on a device from one far end.
struct Heard {
    std::string device;
    int node = 0;
    std::string from;
    int small = 0, large = 0;  // without duplicates
    friend bool operator==(const Heard&, const Heard&) = default;
};

struct ProbeReport {
    std::vector<Sent> sent;
    std::vector<Heard> heard;
    friend bool operator==(const ProbeReport&, const ProbeReport&) = default;
};

inline constexpr std::string_view hello_word = "torus-check-probe";

std::string format_job(const Job& job);
// One line; true for the last one. Throws ProtocolError.
bool parse_job_line(std::string_view line, Job& job);

std::string format_report(const ProbeReport& report);
bool parse_report_line(std::string_view line, int nodes, ProbeReport& report);

}  // namespace torusmp::check
