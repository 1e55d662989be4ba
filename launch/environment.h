// SPDX-License-Identifier: BSD-3-Clause
// The environment variables by which torus-run passes a rank its identity, and the frames exchanged
// over the inherited socket. Included by the rank library and by torus-run only; both must come
// from the same build, which the version in `Welcome` checks.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace torusmp::launch {

// "socket:inode:notices:inode:lifeline": the rank's control socket and the socket of notices, each
// with the inode that proves that the descriptor is still that socket, and the pipe whose end of
// file means that torus-run is gone. Removed by the process that connects, so that its children are
// not mistaken for the rank.
inline constexpr const char* env_bootstrap = "TORUSMP_BOOTSTRAP";
// Set to its pid by the process that connects: its children see that they are not the rank.
inline constexpr const char* env_connected = "TORUSMP_CONNECTED";
// For user scripts; the library takes its rank and size from the welcome frame.
inline constexpr const char* env_rank = "TORUSMP_RANK";
inline constexpr const char* env_size = "TORUSMP_SIZE";
inline constexpr const char* env_local_rank = "TORUSMP_LOCAL_RANK";
// The program of the job that this rank runs, from 0.
inline constexpr const char* env_program = "TORUSMP_APPNUM";

// How often the job has been started again, from 0; set only with torus-run --restart-on-death.
inline constexpr const char* env_restart = "TORUSMP_RESTART";
// The process that started the rank, which is not its parent if a script started the program.
inline constexpr const char* env_launcher = "TORUSMP_LAUNCHER";
// The path of torus-run on this host, which starts the processes of MPI_Comm_spawn.
inline constexpr const char* env_torus_run = "TORUSMP_RUN";
// Gives the processes of MPI_Comm_spawn the name under which they meet their parents.
inline constexpr const char* env_parents = "TORUSMP_PARENTS";
// Gives torus-stand-in the name under which processes that join meet.
inline constexpr const char* env_meeting = "TORUSMP_MEETING";

// If set, standard output is written line by line.
inline constexpr const char* env_line_output = "TORUSMP_LINE_OUTPUT";

inline constexpr std::uint32_t protocol_version = 6;
inline constexpr std::size_t secret_bytes = 16;
// Limits of a contribution to one exchange, and of an abort text. A larger frame is damaged.
inline constexpr std::uint64_t max_frame_bytes = std::uint64_t(64) << 20;

// With this signal torus-run asks a rank what it waits for; other programs ignore the signal.
inline constexpr int question_signal = SIGURG;
// Sent with the SIGUSR1 that torus-run forwards: torus-run has already asked the rank.
inline constexpr int passed_on_by_torus_run = 0x746f7275;

enum class FrameKind : std::uint32_t {
    // torus-run to rank
    welcome = 1,   // Welcome, then `local_count` ranks as int32, then `dead_count` DeadCables
    everyone = 2,  // size lengths as uint64, then the bytes of all ranks in rank order
    released = 3,  // the barrier is complete
    over = 4,      // text, why the job is being ended; no collective call will complete
    deaths = 5,    // a DeathRecord, the host and the cause of each death, on the socket of notices
    // rank to torus-run
    hello = 16,     // Hello
    exchange = 17,  // this rank's bytes
    barrier = 18,
    finalize = 19,
    abort = 20,  // int32 exit code, then the text
    watch = 21,  // this rank wants to be notified of deaths, and reports them itself
    note = 22,   // text: observations about links and ranks
    link = 23,   // the new state of one of its links, see link_news.h
    waits = 24,  // what it waits for, see core/waits/; sequence 1: waiting too long, 0: an answer
    page = 25,   // int32: its descriptor of its control page, see core/page/control_page.h
    again = 26,  // after finalize: it joins the job again
    child = 27,  // int32: pid of a torus-run that it has started; sequence 1: deaths are allowed
};

struct FrameHeader {
    std::uint32_t kind;
    std::uint32_t sequence;  // collective calls count from 0; 0 in other frames
    std::uint64_t length;    // bytes that follow
};
static_assert(sizeof(FrameHeader) == 16);

struct Welcome {
    std::uint32_t version;
    std::int32_t rank;
    std::int32_t size;
    std::uint32_t local_count;
    std::byte secret[secret_bytes];
    std::uint32_t keep_going;  // 1 if the job continues after a death
    std::uint32_t dead_count;  // cables that are dead at the start
    std::uint32_t sequence;    // of the first collective call
};
static_assert(sizeof(Welcome) == 44);

// A link of the torus of nodes, identified by the node that it leaves in the positive direction.
struct DeadCable {
    std::int32_t node;
    std::int32_t dimension;
};
static_assert(sizeof(DeadCable) == 8);

struct DeathRecord {
    std::int32_t rank;
    std::uint32_t host_length;
    std::uint32_t cause_length;
};
static_assert(sizeof(DeathRecord) == 12);

struct Hello {
    std::uint32_t version;
    std::uint32_t reserved;  // 0
};
static_assert(sizeof(Hello) == 8);

}  // namespace torusmp::launch
