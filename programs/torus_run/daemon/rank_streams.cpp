// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/rank_streams.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/descriptor.h"

namespace torusmp::torus_run {

namespace {

// A rank that prints a line may print more: the next lines are read together, so that not each of
// them wakes this process. The pipe holds all lines that a rank prints meanwhile, but not blocks,
// of which the smallest in use have 4 KiB.
constexpr long time_to_rest = 500'000;  // ns
constexpr std::size_t smallest_block = 4096;

}  // namespace

RankStreams::RankStreams(Loop& loop, Capture capture, std::size_t ranks, Printed printed)
    : loop_(loop),
      capture_(capture),
      printed_(std::move(printed)),
      pipes_(ranks),
      rest_timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (rest_timer_) loop_.watch(rest_timer_.get(), EPOLLIN, [this](auto) { end_rests(); });
}

RankStreams::~RankStreams() {
    for (const auto& pair : pipes_)
        for (const Pipe& pipe : pair)
            if (pipe.end) loop_.forget(pipe.end.get());
    if (rest_timer_) loop_.forget(rest_timer_.get());
}

int RankStreams::pipes(Capture capture) {
    return int(capture.output) + int(capture.errors && !capture.together);
}

// A single pipe keeps the order of both streams.
bool RankStreams::open(std::size_t local_rank, std::array<base::Descriptor, streams>& ends) {
    if (capture_.output && !(ends[output_stream] = open_pipe(local_rank, output_stream)))
        return false;
    if (!capture_.errors) return true;
    ends[errors_stream] =
        capture_.together
            ? base::Descriptor(fcntl(ends[output_stream].get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1))
            : open_pipe(local_rank, errors_stream);
    return bool(ends[errors_stream]);
}

base::Descriptor RankStreams::open_pipe(std::size_t local_rank, int stream) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return {};
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    pipes_[local_rank][std::size_t(stream)].end = base::Descriptor(ends[0]);
    loop_.watch(ends[0], paused_[stream] ? std::uint32_t(EPOLLONESHOT) : EPOLLIN,
                [this, local_rank, stream](auto) { arrived(local_rank, stream); });
    return base::Descriptor(ends[1]);
}

void RankStreams::arrived(std::size_t local_rank, int stream) {
    const std::size_t bytes = read_stream(local_rank, stream);
    Pipe& pipe = pipes_[local_rank][std::size_t(stream)];
    if (pipe.end && !paused_[stream] && bytes > 0 && bytes < smallest_block) rest(pipe);
}

void RankStreams::rest(Pipe& pipe) {
    if (!rest_timer_) return;
    pipe.rests = true;
    loop_.change(pipe.end.get(), std::uint32_t(EPOLLONESHOT));
    if (std::exchange(some_rest_, true)) return;
    const itimerspec once{{0, 0}, {0, time_to_rest}};
    timerfd_settime(rest_timer_.get(), 0, &once, nullptr);
}

void RankStreams::end_rests() {
    std::uint64_t times = 0;
    if (::read(rest_timer_.get(), &times, sizeof times) < 0) return;
    some_rest_ = false;
    for (auto& pair : pipes_)
        for (int stream = 0; stream < streams; ++stream) {
            Pipe& pipe = pair[std::size_t(stream)];
            const bool rested = std::exchange(pipe.rests, false);
            if (rested && pipe.end && !paused_[stream]) loop_.change(pipe.end.get(), EPOLLIN);
        }
}

void RankStreams::read(std::size_t local_rank) {
    for (int stream = 0; stream < streams; ++stream) read_stream(local_rank, stream);
}

std::size_t RankStreams::read_stream(std::size_t local_rank, int stream) {
    const base::Descriptor& pipe = pipes_[local_rank][std::size_t(stream)].end;
    std::size_t bytes = 0;
    char piece[16384];
    while (pipe && !paused_[stream]) {
        const ssize_t n = ::read(pipe.get(), piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) {
            close_stream(local_rank, stream);
            break;
        }
        bytes += std::size_t(n);
        printed_(local_rank, stream, {piece, std::size_t(n)});
    }
    return bytes;
}

void RankStreams::close_stream(std::size_t local_rank, int stream) {
    base::Descriptor& pipe = pipes_[local_rank][std::size_t(stream)].end;
    if (!pipe) return;
    loop_.forget(pipe.get());
    pipe.reset();
    printed_(local_rank, stream, {});
}

void RankStreams::pause(int stream, bool paused) {
    if (paused_[stream] == paused) return;
    paused_[stream] = paused;
    for (const auto& pair : pipes_)
        if (const base::Descriptor& pipe = pair[std::size_t(stream)].end)
            // An end of file would wake the loop repeatedly, so the pipe is not watched while
            // paused.
            loop_.change(pipe.get(), paused ? std::uint32_t(EPOLLONESHOT) : EPOLLIN);
}

void RankStreams::close(int stream) {
    for (std::size_t local_rank = 0; local_rank < pipes_.size(); ++local_rank)
        close_stream(local_rank, stream);
}

bool RankStreams::drain() {
    bool all = true;
    for (std::size_t local_rank = 0; local_rank < pipes_.size(); ++local_rank) {
        read(local_rank);
        for (const Pipe& pipe : pipes_[local_rank]) all = all && !pipe.end;
    }
    return all;
}

}  // namespace torusmp::torus_run
