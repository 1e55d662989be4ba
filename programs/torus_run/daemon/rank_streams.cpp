// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/rank_streams.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"

namespace torusmp::launch {

RankStreams::RankStreams(Loop& loop, Capture capture, std::size_t ranks, Printed printed)
    : loop_(loop), capture_(capture), printed_(std::move(printed)), pipes_(ranks) {}

RankStreams::~RankStreams() {
    for (const auto& pair : pipes_)
        for (const base::Descriptor& pipe : pair)
            if (pipe) loop_.forget(pipe.get());
}

int RankStreams::pipes(Capture capture) {
    return int(capture.output) + int(capture.errors && !capture.together);
}

// Through a single pipe both streams keep their order.
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
    pipes_[local_rank][std::size_t(stream)] = base::Descriptor(ends[0]);
    loop_.watch(ends[0], paused_[stream] ? std::uint32_t(EPOLLONESHOT) : EPOLLIN,
                [this, local_rank, stream](auto) { read_stream(local_rank, stream); });
    return base::Descriptor(ends[1]);
}

void RankStreams::read(std::size_t local_rank) {
    for (int stream = 0; stream < streams; ++stream) read_stream(local_rank, stream);
}

void RankStreams::read_stream(std::size_t local_rank, int stream) {
    const base::Descriptor& pipe = pipes_[local_rank][std::size_t(stream)];
    char piece[16384];
    while (pipe && !paused_[stream]) {
        const ssize_t n = ::read(pipe.get(), piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return close_stream(local_rank, stream);
        printed_(local_rank, stream, {piece, std::size_t(n)});
    }
}

void RankStreams::close_stream(std::size_t local_rank, int stream) {
    base::Descriptor& pipe = pipes_[local_rank][std::size_t(stream)];
    if (!pipe) return;
    loop_.forget(pipe.get());
    pipe.reset();
    printed_(local_rank, stream, {});
}

void RankStreams::pause(int stream, bool paused) {
    if (paused_[stream] == paused) return;
    paused_[stream] = paused;
    for (const auto& pair : pipes_)
        if (const base::Descriptor& pipe = pair[std::size_t(stream)])
            // An end of file would wake the loop again and again, so it is not watched at all.
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
        for (const base::Descriptor& pipe : pipes_[local_rank]) all = all && !pipe;
    }
    return all;
}

}  // namespace torusmp::launch
