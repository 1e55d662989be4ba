// SPDX-License-Identifier: BSD-3-Clause
// What torus-run's daemons tell each other: one daemon a host, the one of the user's own host at
// the head. Plain values; any thread may use them.
//
// They travel in the frames of channel.h. The `sequence` of a frame is the number of the node that
// it goes to, or comes from; daemons in between pass on what is not theirs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "programs/torus_run/front/job.h"
#include "programs/torus_run/streams/channel.h"

namespace torusmp::launch {

// Raised with every change of a frame.
inline constexpr std::uint32_t daemon_protocol = 8;

inline constexpr std::uint32_t every_node = 0xffffffff;

enum class DaemonFrame : std::uint32_t {
    // both ways, while ranks run where the torus is the only network
    lasting = 48,  // a frame that outlives its connection, see lasting.h
    // from the head to a host
    plan = 64,     // HostOrder
    ways,          // TreeWays, which have changed
    start,         // HostStart: all hosts are ready
    signal,        // int32: from the user
    terminate,     // SIGTERM to what runs
    finish,        // kill, answer done, leave
    answer,        // uint32 FrameKind, uint32 sequence, bytes: to every rank
    deaths,        // bytes of DeathRecords, to every rank
    question,      // what do the ranks wait for?
    over,          // text: why no collective call will complete
    input,         // standard input of rank 0; no bytes: its end
    output_taken,  // uint32 stream, uint64 bytes that may follow
    close_output,  // uint32 stream: nobody reads it any more
    watch,         // uint32 ms: how often to take a sample; 0: nobody watches
    ping,
    probe,        // text: the path of torus-check, which starts its probe there
    probe_input,  // bytes
    probe_over,   // end it
    taken,        // uint64: so many lasting frames of the host have been taken
    resume,       // the same, after connections were lost; the host answers with resumed
    // from a host to the head
    greeted = 96,  // a daemon further on has greeted and waits for its plan
    facts,         // HostFacts
    event,         // RankEvent
    output,        // int32 rank, uint32 stream, bytes
    output_ended,  // int32 rank, uint32 stream
    input_taken,   // uint64 bytes
    input_closed,  // rank 0 reads no more
    done,          // HostEnd
    alive,    // uint64, uint64: lasting frames that were taken, for all and its own; or nothing
    resumed,  // the same; what it has sent and was not taken follows
    cut,      // int32 node, uint32 Cut, text: no connection leads to a daemon further on
    leaving,  // to the daemon before it only: it has another connection to the head
    joined,   // int32 node: a daemon that runs is now reached over this one
    unheard,  // it has heard nothing from the head for longer than the timeout, and ends its ranks
    link_trouble,  // LinkTrouble
    sample,        // Sample of its ranks, see monitor/records.h
    probe_output,  // bytes
    probe_ended,   // text: how
    lost,          // text: why the node of this frame, and what lies behind it, cannot be reached
};

// ---- what happens to a rank ----

struct RankEvent {
    enum class Kind : std::uint32_t {
        started,      // number: pid; text: processors
        not_started,  // number: exit code; text: why
        connected,    // number: pid of the process that joined the job
        watching,     // it wants to be told of deaths
        finalized,
        collective,   // number: the call's sequence; call; bytes
        aborted,      // number: exit code; text
        failed,       // it broke a rule. number: exit code; text completes "rank 3 ..."
        ended,        // number: waitpid's status
        vanished,     // under a wrapper that lives on; text completes "rank 3 ..."
        stopped,      // for longer than the timeout. number: the signal
        noted,        // text: what it has seen of links and ranks
        link,         // bytes: what became of one of its links, see launch/link_news.h
        waits,        // bytes: core::Waits; number 1: it has waited too long, 0: an answer
        seen,         // it does not answer. number: RankSight::State; text: where
        another_mpi,  // nobody here has connected; text: "./a.out uses libmpi.so.40 of Open MPI"
    };
    Kind kind{};
    int rank = 0;
    std::int64_t number = 0;
    std::uint32_t call = 0;
    std::string text;
    std::vector<std::byte> bytes;
};

std::vector<std::byte> encode(const RankEvent& event);
RankEvent decode_event(std::span<const std::byte> bytes);  // as all of these: throws PackingError

// ---- what a host is told ----

struct HostOrder {
    HostJob job;
    std::string working_directory;
    unsigned file_mode_mask = 022;
    std::string geometry;  // path of the geometry file on the head's host; empty: none
    bool routes = false;   // describe the routes of the kernel too
    // How the hosts are reached: for each node the node that starts its daemon, -1: the head.
    std::vector<int> parents;
    bool over_links = false;     // over the cables of the torus, from neighbour to neighbour
    bool unknown_links = false;  // the same, and each host finds out which hosts its links lead to
    std::vector<std::string> hosts;
    std::string agent, torus_run;
    std::uint64_t key = 0;  // of the job: by it daemons that run are found again
};

std::vector<std::byte> encode(const HostOrder& order);
HostOrder decode_order(std::span<const std::byte> bytes);

// What became of a connection to a daemon that runs.
enum class Cut : std::uint32_t {
    silent,     // it has died, or was left for another; the daemon may live
    no_answer,  // it could not be made
    ended       // the daemon itself has ended
};

// How hosts are reached while that changes.
struct TreeWays {
    std::uint64_t version = 0;  // the highest counts
    std::vector<int> parents;   // as in HostOrder
    std::vector<int> missing;   // nodes that run and are to be joined by their parents, once these
                                // are reached themselves

    friend bool operator==(const TreeWays&, const TreeWays&) = default;
};

std::vector<std::byte> encode(const TreeWays& ways);
TreeWays decode_ways(std::span<const std::byte> bytes);

struct HostStart {
    bool shared_machine = false;             // by several hosts, so ranks are not bound
    std::vector<routing::Link> dead_cables;  // as the preflight found them
};

std::vector<std::byte> encode(const HostStart& start);
HostStart decode_start(std::span<const std::byte> bytes);

// ---- what a host answers ----

struct HostFacts {
    std::string name;                   // its own
    std::string machine;                // the same for several hosts on one machine
    std::vector<std::string> problems;  // whole clauses; empty: ready to start
    std::string description;            // config::format_facts(); empty: not asked for
};

std::vector<std::byte> encode(const HostFacts& facts);
HostFacts decode_facts(std::span<const std::byte> bytes);

// What a host's kernel has noticed of one of its links while a job runs.
struct LinkTrouble {
    enum class Kind : std::uint32_t { damage, slowness };
    Kind kind{};
    std::string device;
    std::string what;  // completes "the kernel of host qcd001"; names the device

    friend bool operator==(const LinkTrouble&, const LinkTrouble&) = default;
};

std::vector<std::byte> encode(const LinkTrouble& trouble);
LinkTrouble decode_trouble(std::span<const std::byte> bytes);

struct HostEnd {
    std::vector<int> left_behind, stuck;  // pids

    // Lines for the user, if there is anything to say; `where`: "" or " on host n3". orderly: the
    // ranks had ended by themselves, so that nothing had to be left.
    std::string describe(const std::string& where, bool orderly) const;
};

std::vector<std::byte> encode(const HostEnd& end);
HostEnd decode_end(std::span<const std::byte> bytes);

inline SharedBytes share(std::vector<std::byte> bytes) {
    return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace torusmp::launch
