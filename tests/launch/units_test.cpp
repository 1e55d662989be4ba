// SPDX-License-Identifier: BSD-3-Clause
// The parts of torus-run that need no processes.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <span>

#include "base/descriptor.h"
#include "programs/torus_run/daemon/coordinator.h"
#include "programs/torus_run/daemon/gathering.h"
#include "programs/torus_run/daemon/limits.h"
#include "programs/torus_run/daemon/prepare.h"
#include "programs/torus_run/front/order.h"
#include "programs/torus_run/streams/channel.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/messages.h"
#include "programs/torus_run/streams/output.h"
#include "programs/torus_run/streams/packing.h"
#include "programs/torus_run/streams/text.h"
#include "programs/torus_run/tree/child_daemons.h"

namespace torusmp::torus_run::units_test {
namespace {

std::vector<std::byte> bytes(const std::string& text) {
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
}

// A pipe big enough for these tests, with what a Sink wrote to it.
class Pipe {
  public:
    Pipe() { REQUIRE(pipe2(ends_, O_CLOEXEC | O_NONBLOCK) == 0); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close(ends_[0]);
        close(ends_[1]);
    }
    int reader() const { return ends_[0]; }
    int writer() const { return ends_[1]; }
    std::string text() const {
        std::string all(65536, '\0');
        const ssize_t n = read(ends_[0], all.data(), all.size());
        all.resize(n > 0 ? std::size_t(n) : 0);
        return all;
    }

  private:
    int ends_[2];
};

}  // namespace

TEST_CASE("A gathering is complete when every rank has joined, and returns the bytes by rank") {
    Gathering gathering(3);
    CHECK_FALSE(gathering.open());
    CHECK_FALSE(gathering.join(2, launch::FrameKind::exchange, 0, bytes("cc")));
    CHECK(gathering.open());
    CHECK(gathering.describe_waiting() == "rank 2 waits in MPI_Init or QMP_init_msg_passing");
    CHECK_FALSE(gathering.join(0, launch::FrameKind::exchange, 0, bytes("")));
    CHECK_FALSE(gathering.complete());
    CHECK_FALSE(gathering.join(1, launch::FrameKind::exchange, 0, bytes("b")));
    REQUIRE(gathering.complete());

    const Gathering::Answer answer = gathering.finish();
    CHECK(answer.header.kind == std::uint32_t(launch::FrameKind::everyone));
    CHECK(answer.header.sequence == 0);
    REQUIRE(answer.bytes->size() == 3 * sizeof(std::uint64_t) + 3);
    std::uint64_t lengths[3];
    std::memcpy(lengths, answer.bytes->data(), sizeof lengths);
    CHECK(lengths[0] == 0);
    CHECK(lengths[1] == 1);
    CHECK(lengths[2] == 2);
    CHECK(std::memcmp(answer.bytes->data() + sizeof lengths, "bcc", 3) == 0);
    CHECK_FALSE(gathering.open());
}

TEST_CASE("A gathering refuses calls that contradict each other") {
    Gathering gathering(3);
    REQUIRE_FALSE(gathering.join(0, launch::FrameKind::barrier, 0, {}));
    CHECK_THAT(*gathering.join(1, launch::FrameKind::exchange, 0, {}),
               Catch::Matchers::Contains(
                   "called MPI_Init or QMP_init_msg_passing while rank 0 waits in the "
                   "barrier at the start or the end of the job"));
    CHECK_THAT(*gathering.join(0, launch::FrameKind::barrier, 0, {}),
               Catch::Matchers::Contains("twice"));
    CHECK_THAT(*gathering.join(2, launch::FrameKind::barrier, 5, {}),
               Catch::Matchers::Contains("number 5"));
    CHECK_FALSE(gathering.complete());
}

TEST_CASE("A frame that arrives in pieces is returned once, whole") {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    Channel channel{base::Descriptor(ends[0])};
    const base::Descriptor rank(ends[1]);
    const launch::FrameHeader header{std::uint32_t(launch::FrameKind::exchange), 4, 5};
    std::string wire(sizeof header, '\0');
    std::memcpy(wire.data(), &header, sizeof header);
    wire += "hello";
    Frame frame;
    for (const char c : wire) {
        CHECK_FALSE(channel.next(frame));
        REQUIRE(write(rank.get(), &c, 1) == 1);
        REQUIRE(channel.receive());
    }
    REQUIRE(channel.next(frame));
    CHECK(frame.header.sequence == 4);
    CHECK(frame.body == bytes("hello"));
    CHECK(frame.sender == getpid());
    CHECK_FALSE(channel.next(frame));
}

TEST_CASE("A frame with a false length is refused without an allocation") {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    Channel channel{base::Descriptor(ends[0])};
    const base::Descriptor rank(ends[1]);
    const launch::FrameHeader header{std::uint32_t(launch::FrameKind::exchange), 0,
                                     ~std::uint64_t(0) - 3};
    REQUIRE(write(rank.get(), &header, sizeof header) == ssize_t(sizeof header));
    REQUIRE(channel.receive());
    Frame frame;
    CHECK_FALSE(channel.next(frame));
    CHECK(channel.damaged());
}

TEST_CASE("Tagged lines are written whole, and the last is completed at the end") {
    Pipe pipe;
    Sink sink(pipe.writer());
    Lines tagger(12, true);
    tagger.take("one\ntw", sink);
    tagger.take("o\n\nthree", sink);
    REQUIRE(sink.pump());
    CHECK(pipe.text() == "[12] one\n[12] two\n[12] \n");
    tagger.finish(sink);
    REQUIRE(sink.pump());
    CHECK(pipe.text() == "[12] three\n");
}

TEST_CASE("A tagged line that never ends is cut") {
    Pipe pipe;
    Sink sink(pipe.writer());
    Lines tagger(0, true);
    tagger.take(std::string((std::size_t(1) << 20) + 3, 'x'), sink);
    CHECK_FALSE(sink.empty());
    CHECK(sink.full());
}

TEST_CASE("Lines are written whole and unchanged, and a flushed partial line is written soon") {
    using namespace std::chrono_literals;
    Pipe pipe;
    Sink sink(pipe.writer());
    Lines lines(12, false);
    const auto begun = Lines::Clock::now();
    lines.take("one\ntwo\nthr", sink);
    REQUIRE(sink.pump());
    CHECK(pipe.text() == "one\ntwo\n");
    const auto question = lines.write_time();
    REQUIRE(question);
    CHECK(*question <= Lines::Clock::now() + 1s);
    lines.take("ee", sink);
    CHECK(lines.write_time() == question);  // more of the same line makes it wait no longer
    CHECK(sink.empty());
    lines.take("\n", sink);
    CHECK_FALSE(lines.write_time());
    REQUIRE(sink.pump());
    CHECK(pipe.text() == "three\n");

    // A line that fills the buffer continues in the next one.
    lines.take(std::string(4096, 'x'), sink);
    CHECK(sink.empty());
    CHECK(*lines.write_time() > begun + 10s);
    lines.take("\nend", sink);
    lines.finish(sink);
    REQUIRE(sink.pump());
    CHECK(pipe.text() == std::string(4096, 'x') + "\nend");

    lines.take(std::string(70'000, 'y'), sink);  // and no line takes memory without end
    CHECK_FALSE(sink.empty());
    CHECK_FALSE(lines.write_time());
}

TEST_CASE("A sink whose disk is full drops the output that does not fit, and tries again") {
    const base::Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    Sink sink(full.get());
    sink.add("lost");
    CHECK(sink.pump());
    CHECK(sink.empty());
    CHECK(sink.error() == ENOSPC);
    CHECK_FALSE(sink.broken());
    Pipe pipe;
    REQUIRE(dup2(pipe.writer(), full.get()) == full.get());
    sink.add("kept");
    CHECK(sink.pump());
    CHECK(pipe.text() == "kept");
}

TEST_CASE("A sink without a reader accepts no output and keeps none") {
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    close(ends[0]);
    const base::Descriptor writer(ends[1]);
    Sink sink(writer.get());
    sink.add("lost");
    CHECK_FALSE(sink.pump());
    sink.add("lost too");
    CHECK(sink.empty());
    sigaction(SIGPIPE, &before, nullptr);
}

TEST_CASE("A sink never blocks on a reader that does not read") {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);  // blocking, as a shell's pipe is
    const base::Descriptor reader(ends[0]), writer(ends[1]);
    Sink sink(writer.get());
    sink.add(std::string(1'000'000, 'x'));
    CHECK(sink.pump());
    CHECK_FALSE(sink.empty());
}

TEST_CASE("Ends of processes are described in sentences, with the exit code of a shell") {
    CHECK(describe_end(3 << 8) == "exited with code 3");
    CHECK(describe_end(SIGKILL) == "was killed by SIGKILL (Killed)");
    CHECK(describe_end(SIGABRT | 0x80) == "was killed by SIGABRT (Aborted), core dumped");
    CHECK(exit_code_of(3 << 8) == 3);
    CHECK(exit_code_of(SIGKILL) == 137);
}

TEST_CASE("A limit that is too low for the job is reported with its value and the required value") {
    const std::vector<Limit> limits{
        {"processes", "ulimit -u (RLIMIT_NPROC)", 4096, 100, 3996},
        {"processes", "pids.max", 4096, 101, 3996},
        {"open files", "ulimit -Hn (RLIMIT_NOFILE)", 8000, 0, 8056},
        {"of memory", "memory.max", std::uint64_t(256) << 20, 0, std::uint64_t(500) << 20}};
    CHECK(exceeded(limits, 3996) ==
          std::vector<std::string>{
              "3996 ranks need 3996 processes, but pids.max is 4096, of which 101 are in use: "
              "raise this limit, or start fewer ranks on this host",
              "3996 ranks need at least 8056 open files, but ulimit -Hn (RLIMIT_NOFILE) is 8000: "
              "raise this limit, or start fewer ranks on this host",
              "3996 ranks need at least 500 MiB of memory, but memory.max is 256 MiB: raise this "
              "limit, or start fewer ranks on this host"});
    CHECK(exceeded(limits_for(1, 4), 1).empty());
}

TEST_CASE("A gathering does not wait for ranks that have ended, before or within a call") {
    Gathering gathering(3);
    gathering.leave(1);
    gathering.leave(1);
    CHECK_FALSE(gathering.complete());  // no rank has called
    CHECK_FALSE(gathering.join(0, launch::FrameKind::exchange, 0, bytes("a")));
    CHECK_FALSE(gathering.join(2, launch::FrameKind::exchange, 0, bytes("c")));
    REQUIRE(gathering.complete());
    gathering.finish();
    // The contribution of a rank that has left still counts.
    CHECK_FALSE(gathering.join(2, launch::FrameKind::barrier, 1, {}));
    gathering.leave(2);
    CHECK_FALSE(gathering.complete());
    CHECK_FALSE(gathering.join(0, launch::FrameKind::barrier, 1, {}));
    REQUIRE(gathering.complete());
    gathering.finish();
    CHECK_FALSE(gathering.join(0, launch::FrameKind::barrier, 2, {}));
    CHECK(gathering.complete());
}

TEST_CASE("Frames between daemons are unchanged after encoding and decoding") {
    HostOrder order;
    order.job.node = 3;
    order.job.host = "qcd003";
    order.job.size = 16;
    order.job.ranks = {6, 7};
    order.job.secret[15] = std::byte(0xfe);
    order.job.programs = {{0, "./app", {"./app", "", "in.xml"}, {}, ""},
                          {7, "/bin/other", {"other"}, {"A=1"}, "/of/other"}};
    order.job.environment = {"A=b c", "EMPTY="};
    order.job.bind = config::Bind::numa;
    order.job.keep_going = true;
    order.job.capture = {true, true, false};
    order.job.timeout = std::chrono::milliseconds(1500);
    order.working_directory = "/home/of/user";
    order.file_mode_mask = 077;
    order.geometry = "/etc/torus.toml";
    order.parents = {-1, 0, 0, 1};
    order.hosts = {"a", "b", "c", "d"};
    order.agent = "ssh -p 22";
    const HostOrder read = decode_order(encode(order));
    CHECK(read.job.ranks == order.job.ranks);
    CHECK(read.job.secret == order.job.secret);
    REQUIRE(read.job.programs.size() == 2);
    CHECK(read.job.programs[0].arguments == order.job.programs[0].arguments);
    CHECK(read.job.programs[1].folder == "/of/other");
    CHECK(read.job.program_of(6) == 0);
    CHECK(read.job.program_of(7) == 1);
    CHECK(read.job.environment == order.job.environment);
    CHECK(read.job.bind == order.job.bind);
    CHECK(read.job.keep_going);
    CHECK(read.job.capture == order.job.capture);
    CHECK(read.job.timeout == order.job.timeout);
    CHECK(read.working_directory == order.working_directory);
    CHECK(read.file_mode_mask == order.file_mode_mask);
    CHECK(read.parents == order.parents);
    CHECK(read.hosts == order.hosts);
    CHECK(encode(read) == encode(order));

    const RankEvent event{RankEvent::Kind::collective, 5, -7, 17, "text", bytes("payload")};
    CHECK(encode(decode_event(encode(event))) == encode(event));
    const HostFacts facts{"qcd003", "boot", {"no program", "no folder"}, "lines\n"};
    CHECK(decode_facts(encode(facts)).problems == facts.problems);
    CHECK(decode_end(encode(HostEnd{{1, 2}, {3}})).stuck == std::vector<int>{3});
    const HostStart start{true, {{3, 1}, {0, 2}}};
    CHECK(decode_start(encode(start)).shared_machine);
    CHECK(decode_start(encode(start)).dead_cables == start.dead_cables);
    const std::vector<std::byte> bytes_of_start = encode(start);
    for (std::size_t length = 0; length < bytes_of_start.size(); ++length)
        CHECK_THROWS_AS(decode_start(std::span(bytes_of_start).first(length)), PackingError);
}

TEST_CASE("A message between daemons that is truncated, or has a false count, is refused") {
    HostOrder order;
    order.job.ranks = {1, 2, 3};
    order.job.programs = {{0, "a", {"a", "b"}, {}, ""}};
    const std::vector<std::byte> whole = encode(order);
    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK_THROWS_AS(decode_order(std::span(whole).first(length)), PackingError);
    // The count of ranks stands behind the node, the host's name, and the size.
    std::vector<std::byte> lying = whole;
    lying[sizeof(int) + sizeof(std::uint64_t) + sizeof(int) + 7] = std::byte(0x7f);
    CHECK_THROWS_AS(decode_order(lying), PackingError);
}

TEST_CASE("The tree over the torus reaches every node on a shortest path") {
    const std::vector<int> dims{3, 4, 2};
    const routing::Torus nodes(dims);
    const int start = GENERATE(0, 13);
    const std::vector<int> parents = spanning_tree(nodes, start);
    CHECK(parents[std::size_t(start)] == -1);
    for (int node = 0; node < nodes.size(); ++node) {
        int steps = 0;
        for (int at = node; at != start; at = parents[std::size_t(at)]) {
            REQUIRE(nodes.distance(at, parents[std::size_t(at)]) == 1);
            ++steps;
        }
        CHECK(steps == nodes.distance(start, node));
    }
    CHECK(subtree_of(parents, start).size() == 24);
}

TEST_CASE("A message for a node below goes only to the child on the path") {
    const std::vector<int> parents{-1, 0, 1, 1, 0};
    CHECK(next_on_the_way(parents, -1, 3) == 0);
    CHECK(next_on_the_way(parents, 0, 3) == 1);
    CHECK(next_on_the_way(parents, 1, 3) == 3);
    CHECK_FALSE(next_on_the_way(parents, 4, 3));
    CHECK_FALSE(next_on_the_way(parents, 0, 99));
    CHECK_FALSE(next_on_the_way(parents, 0, -5));
    CHECK(subtree_of(parents, 1) == std::vector<int>{1, 2, 3});
    CHECK(subtree_of(parents, 4) == std::vector<int>{4});
}

TEST_CASE("Ranks are listed as ranges") {
    CHECK(list_ranks({}) == "no rank");
    CHECK(list_ranks({3}) == "rank 3");
    CHECK(list_ranks({3, 9}) == "ranks 3 and 9");
    CHECK(list_ranks({4, 5, 6, 7}) == "ranks 4 to 7");
    CHECK(list_ranks({1, 3, 5}) == "ranks 1, 3, 5");
}

TEST_CASE("A handler may remove a descriptor whose event has already been read") {
    Loop loop;
    Pipe first, second;
    int heard = 0;
    const auto forget_both = [&](auto) {
        ++heard;
        loop.forget(first.reader());
        loop.forget(second.reader());
    };
    REQUIRE(loop.watch(first.reader(), EPOLLIN, forget_both));
    REQUIRE(loop.watch(second.reader(), EPOLLIN, forget_both));
    REQUIRE(write(first.writer(), "x", 1) == 1);
    REQUIRE(write(second.writer(), "x", 1) == 1);
    loop.step(1000, [] {});
    CHECK(heard == 1);
    loop.step(0, [] {});
    CHECK(heard == 1);
}

TEST_CASE("Variables of a host or a login are not passed to another host") {
    for (const char* name : {"HOME", "HOSTNAME", "SSH_CONNECTION", "XDG_RUNTIME_DIR", "DISPLAY"})
        CHECK(belongs_to_a_host(name));
    for (const char* name : {"PATH", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "HOMEWORK", "LANG"})
        CHECK_FALSE(belongs_to_a_host(name));
}

}  // namespace torusmp::torus_run::units_test
