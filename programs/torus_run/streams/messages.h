// SPDX-License-Identifier: BSD-3-Clause
// Messages between the daemons of torus-run: one daemon per host, with the head on the user's host.
// Plain values; any thread may use them.
//
// They travel in the frames of channel.h. The `sequence` of a frame is the number of its source or
// destination node; daemons in between forward frames of other nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "programs/torus_run/front/job.h"
#include "programs/torus_run/streams/channel.h"

namespace torusmp::torus_run {

// Increment with every change of a frame.
inline constexpr std::uint32_t daemon_protocol = 10;

inline constexpr std::uint32_t every_node = 0xffffffff;

enum class DaemonFrame : std::uint32_t {
    // in both directions, while ranks run where the torus is the only network
    lasting = 48,  // a frame that outlives its connection; see lasting.h
    // from the head to a host
    plan = 64,     // HostOrder
    ways,          // TreeWays, after a change
    start,         // HostStart: all hosts are ready
    signal,        // int32: from the user
    terminate,     // send SIGTERM to all processes
    finish,        // kill, answer `done`, and leave
    answer,        // uint32 FrameKind, uint32 sequence, bytes: to every rank
    deaths,        // bytes of DeathRecords, to every rank
    question,      // ask the ranks what they wait for
    stand_in,      // int32 rank, uint32 sequence: start a process in the place of a rank that left
    over,          // text: why no collective call will complete
    input,         // standard input of rank 0; empty for its end
    output_taken,  // uint32 stream, uint64 bytes: this much more may be sent
    close_output,  // uint32 stream: its reader is gone
    watch,         // uint32 ms: the sampling interval; 0 for no samples
    ping,
    probe,        // texts: a command that the host runs in place of ranks
    probe_input,  // bytes
    probe_over,   // end the probe
    taken,        // uint64: number of lasting frames received from the host
    resume,       // as `taken`, after connections were lost; the host answers with resumed
    // from a host to the head
    greeted = 96,  // a daemon below has greeted and waits for its plan
    facts,         // HostFacts
    event,         // RankEvent
    output,        // int32 rank, uint32 stream, bytes
    output_ended,  // int32 rank, uint32 stream
    input_taken,   // uint64 bytes
    input_closed,  // rank 0 has closed its standard input
    done,          // HostEnd
    // uint64, uint64: lasting frames received, of the common and of its own stream; or empty
    alive,
    resumed,  // the same two counts; the frames that the head has not received follow
    cut,      // int32 node, uint32 Cut, text: the connection to a daemon below is lost
    leaving,  // only to the parent daemon: this daemon has another connection to the head
    joined,   // int32 node: a running daemon is now reached over this one
    unheard,  // it received nothing from the head for longer than the timeout, and ends its ranks
    link_trouble,  // LinkTrouble
    plugged,       // before the start: the other ends of its links are known
    sample,        // Sample of its ranks, see monitor/records.h
    probe_output,  // bytes
    probe_ended,   // text: how it ended
    lost,          // text: why the node of this frame, and those behind it, cannot be reached
};

// ---- events of a rank ----

struct RankEvent {
    enum class Kind : std::uint32_t {
        started,      // number: pid; text: processors
        not_started,  // number: exit code; text: why
        connected,    // number: pid of the process that joined the job
        watching,     // the rank wants to be notified of deaths
        finalized,
        collective,   // number: the call's sequence; call; bytes
        aborted,      // number: exit code; text
        failed,       // broke the protocol. number: exit code; text completes "rank 3 ..."
        ended,        // number: waitpid's status; text: the cause, if known
        vanished,     // ended, but not reaped. number: exit code; text completes "rank 3 ..."
        stopped,      // for longer than the timeout. number: the signal
        noted,        // text: a report about links and ranks
        link,         // bytes: change of one of its links, see launch/link_news.h
        waits,        // bytes: core::Waits; number 1: it has waited too long, 0 for an answer
        seen,         // the rank does not answer. number: RankSight::State; text: where
        another_mpi,  // no rank here has connected; text: "./a.out uses libmpi.so.40 of Open MPI"
        joins_again,  // after finalized
        left_job,     // the rank has ended and left behind a torus-run that it had started
        job_ended,  // such a torus-run. number: waitpid's status; call 1: a death is not a failure
    };
    Kind kind{};
    int rank = 0;
    std::int64_t number = 0;
    std::uint32_t call = 0;
    std::string text;
    std::vector<std::byte> bytes;
};

std::vector<std::byte> encode(const RankEvent& event);
RankEvent decode_event(std::span<const std::byte> bytes);  // like all decoders, throws PackingError

// ---- orders to a host ----

struct HostOrder {
    HostJob job;
    std::string working_directory;
    unsigned file_mode_mask = 022;
    std::string geometry;  // path of the geometry file on the head's host; empty if none
    bool routes = false;   // also describe the kernel's routes
    // For each node the node that starts its daemon; -1 for the head.
    std::vector<int> parents;
    bool over_links = false;  // over the cables of the torus, from neighbour to neighbour
    // as over_links, and each host finds out which hosts its links lead to
    bool unknown_links = false;
    std::vector<std::string> hosts;
    std::string agent, torus_run;
    std::uint64_t key = 0;  // identifies the job when running daemons are found again
};

std::vector<std::byte> encode(const HostOrder& order);
HostOrder decode_order(std::span<const std::byte> bytes);

// Why a connection to a running daemon is lost.
enum class Cut : std::uint32_t {
    silent,     // silent, or replaced by another connection; the daemon may be alive
    no_answer,  // the connection could not be made
    ended       // the daemon itself has ended
};

// The current tree over which hosts are reached.
struct TreeWays {
    std::uint64_t version = 0;  // the highest version wins
    std::vector<int> parents;   // as in HostOrder
    std::vector<int> missing;   // running nodes to be joined by their parents, once these are
                                // reached

    friend bool operator==(const TreeWays&, const TreeWays&) = default;
};

std::vector<std::byte> encode(const TreeWays& ways);
TreeWays decode_ways(std::span<const std::byte> bytes);

struct HostStart {
    // several hosts share a machine, so ranks are not bound
    bool shared_machine = false;
    std::vector<routing::Link> dead_cables;  // found by the preflight
    // The settings for ranks if they have changed since the order; otherwise empty.
    std::vector<std::string> settings = {};
};

std::vector<std::byte> encode(const HostStart& start);
HostStart decode_start(std::span<const std::byte> bytes);

// ---- answers from a host ----

struct HostFacts {
    std::string name;                   // its own name
    std::string machine;                // equal for hosts on the same machine
    std::vector<std::string> problems;  // whole clauses; empty if ready to start
    std::string description;            // config::format_facts(); empty if not requested
};

std::vector<std::byte> encode(const HostFacts& facts);
HostFacts decode_facts(std::span<const std::byte> bytes);

// Trouble that a host has noticed on one of its links during a job.
struct LinkTrouble {
    enum class Kind : std::uint32_t {
        damage,
        slowness,
        loss,
        elsewhere  // `what`: node and device at the other end of the cable
    };
    Kind kind{};
    std::string device;
    std::string what;  // completes "the kernel of host qcd001"; names the device

    friend bool operator==(const LinkTrouble&, const LinkTrouble&) = default;
};

std::vector<std::byte> encode(const LinkTrouble& trouble);
LinkTrouble decode_trouble(std::span<const std::byte> bytes);

struct HostEnd {
    std::vector<int> left_behind, stuck;  // pids

    // Lines for the user, or an empty text; `where` is "" or " on host n3". `orderly` means that
    // the ranks had ended by themselves, so no process should be left.
    std::string describe(const std::string& where, bool orderly) const;
};

std::vector<std::byte> encode(const HostEnd& end);
HostEnd decode_end(std::span<const std::byte> bytes);

inline SharedBytes share(std::vector<std::byte> bytes) {
    return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace torusmp::torus_run
