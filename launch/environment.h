// SPDX-License-Identifier: BSD-3-Clause
// The environment variables by which torus-run tells a rank its identity, and the frames that the
// two exchange over the inherited socket. Included by the rank library and by torus-run only; both
// come from one build, and the version in `Welcome` refuses a mixture of two.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace torusmp::launch {

// "socket:inode:notices:inode:lifeline": the rank's control socket and the socket of notices, each
// with the inode that proves that the descriptor is still that socket, and the pipe whose end of
// file says that torus-run is gone. Removed by the process that connects, so that its children are
// not mistaken for the rank.
inline constexpr const char* env_bootstrap = "TORUSMP_BOOTSTRAP";
// Set by the process that connects, to its pid: its children can tell that they are not the rank.
inline constexpr const char* env_connected = "TORUSMP_CONNECTED";
// For scripts of the user; the library takes its rank and size from the welcome frame.
inline constexpr const char* env_rank = "TORUSMP_RANK";
inline constexpr const char* env_size = "TORUSMP_SIZE";
inline constexpr const char* env_local_rank = "TORUSMP_LOCAL_RANK";
// Which of the programs of the job this rank runs, from 0.
inline constexpr const char* env_program = "TORUSMP_APPNUM";

inline constexpr std::uint32_t protocol_version = 5;
inline constexpr std::size_t secret_bytes = 16;
// Limits of a contribution to one exchange, and of an abort text. More is a damaged frame.
inline constexpr std::uint64_t max_frame_bytes = std::uint64_t(64) << 20;

// By this signal torus-run asks a rank what it waits for; it does nothing to other programs.
inline constexpr int question_signal = SIGURG;
// Comes with the SIGUSR1 that torus-run passes on: it has asked the rank already.
inline constexpr int passed_on_by_torus_run = 0x746f7275;

enum class FrameKind : std::uint32_t {
    // torus-run to rank
    welcome = 1,   // Welcome, then `local_count` ranks as int32, then `dead_count` DeadCables
    everyone = 2,  // size lengths as uint64, then everybody's bytes in rank order
    released = 3,  // the barrier is complete
    over = 4,      // the job is being ended: text, why; no collective call will complete
    deaths = 5,    // on the socket of notices: for each a DeathRecord, the host and the cause
    // rank to torus-run
    hello = 16,     // Hello
    exchange = 17,  // this rank's bytes
    barrier = 18,
    finalize = 19,
    abort = 20,  // int32 exit code, then the text
    watch = 21,  // this rank wants to be told of deaths, and names them itself
    note = 22,   // text: what it has seen of links and ranks
    link = 23,   // what became of one of its links, see link_news.h
    waits = 24,  // what it waits for, see core/waits/; sequence 1: for too long, 0: an answer
    page = 25,   // int32: its descriptor of its control page, see core/page/control_page.h
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
    std::uint32_t keep_going;  // 1: the job lives on after a death
    std::uint32_t dead_count;  // cables that are dead at the start
};
static_assert(sizeof(Welcome) == 40);

// A link of the torus of nodes, by the node that it leaves in the positive direction.
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
