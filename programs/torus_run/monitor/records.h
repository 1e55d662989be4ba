// SPDX-License-Identifier: BSD-3-Clause
// Records about a running job, sent from each daemon to the head and from the head to observers,
// and written to recordings by torus-top. Plain values; any thread may use them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/page/control_page.h"

namespace torusmp::torus_run {

// Increment with every change of the records: torus-top refuses a job of another version.
inline constexpr std::uint32_t monitor_protocol = 2;

enum class RankState : std::uint32_t {
    unseen,     // running, has not joined the job
    joining,    // waiting for its links, or for others to join
    active,     // enters and leaves calls
    computing,  // has not been in a call since
    waiting,    // in a call
    stopped,    // by a signal
    left,       // it has left the job
    ended       // the process does not exist any more
};
const char* name_of(RankState state);
const char* name_of(core::WaitKind kind);

// Times are ns of the steady clock of the host where torus-run was started.
struct RankRecord {
    std::int32_t rank = -1;
    RankState state = RankState::unseen;
    std::int64_t since = 0;  // start of the state
    std::int64_t at = 0;     // when the counters were read
    std::uint64_t cpu = 0;   // ns of processor time, all threads
    std::int32_t pid = 0;
    core::WaitKind wait = core::WaitKind::none;
    std::int32_t peer = -1;
    std::int32_t tag = -1;
    std::uint64_t bytes = 0;
    std::array<char, 40> call{};
    std::array<char, 120> detail{};
    std::uint64_t posted = 0, unexpected = 0, requests = 0, collectives = 0;
    core::WindowCounts windows;

    friend bool operator==(const RankRecord&, const RankRecord&) = default;
};

struct WayRecord {
    std::int32_t rank = -1;
    std::int32_t way = 0;  // Direction::index(), or core::other_ways
    core::WayCounts counts;
};

// A device of a host, by the link that leaves through it.
struct DeviceRecord {
    std::int32_t node = -1;
    std::int32_t way = 0;
    std::uint32_t megabits = 0;  // capacity of the cable per second; 0 if unknown
    // Since the first observer of the job, modulo 2^32.
    std::uint32_t damaged = 0;
    std::uint32_t dropped = 0;
    std::uint32_t reserved = 0;
    std::array<char, 16> name{};

    friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

// The changes since the previous sample. Everything that is missing is unchanged.
struct Sample {
    std::int64_t now = 0;
    std::vector<RankRecord> ranks;
    std::vector<WayRecord> ways;
    std::vector<DeviceRecord> devices;
};

std::vector<std::byte> encode(const Sample& sample);
Sample decode_sample(std::span<const std::byte> bytes);  // throws PackingError

// The constant properties of a running job.
struct JobDescription {
    std::int64_t pid = 0;      // of torus-run, which names the job
    std::int64_t started = 0;  // seconds since 1970
    std::string program, host;
    int size = 0;
    std::vector<int> dims;      // of the torus of ranks
    std::vector<int> periodic;  // 0 or 1 each
    std::vector<std::string> hosts;
    std::vector<int> node_of;  // by rank
};

std::vector<std::byte> encode(const JobDescription& job);
// Throws PackingError, also for an impossible description.
JobDescription decode_job(std::span<const std::byte> bytes);

// ---- between the head and observers, in the frames of channel.h; `sequence` is the version ----

enum class MonitorFrame : std::uint32_t {
    // from the head
    job = 128,  // JobDescription
    sample,     // Sample: the first one is complete
    refused,    // text: why the connection ends
    over,       // int32: the exit code of the job
    // from the observer
    look = 160,  // uint32: ms between two samples
};

inline constexpr std::uint32_t shortest_interval = 50, longest_interval = 3'600'000;  // ms

}  // namespace torusmp::torus_run
