// SPDX-License-Identifier: BSD-3-Clause
// The messages from ranks, and the answers to them.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "programs/torus_run/daemon/local_ranks.h"

namespace torusmp::torus_run {

void LocalRanks::report(const Rank& rank, RankEvent::Kind kind, std::int64_t number,
                        std::string text) {
    listener_.handle_event({kind, rank.number, number, 0, std::move(text), {}});
}

void LocalRanks::hear(Rank& rank) {
    Channel& channel = *rank.channel;
    if (!channel.open()) return;
    const bool more = channel.receive();
    Frame frame;
    while (channel.next(frame)) understand(rank, frame);
    if (channel.damaged())
        report(rank, RankEvent::Kind::failed, exit_failure, "sent a damaged frame to torus-run");
    if (!more || channel.damaged()) close_channels(rank);
}

void LocalRanks::close_channels(Rank& rank) {
    for (Channel* both : {&*rank.channel, &*rank.notices}) {
        if (!both->open()) continue;
        loop_.forget(both->fd());
        both->close();
    }
}

void LocalRanks::understand(Rank& rank, Frame& frame) {
    const auto kind = launch::FrameKind(frame.header.kind);
    if (kind != launch::FrameKind::hello && !rank.connected)
        return report(rank, RankEvent::Kind::failed, exit_failure,
                      "sent a frame before it connected");
    switch (kind) {
        case launch::FrameKind::hello:
            return hello(rank, frame);
        case launch::FrameKind::exchange:
        case launch::FrameKind::barrier:
            return listener_.handle_event({RankEvent::Kind::collective,
                                           rank.number,
                                           frame.header.sequence,
                                           frame.header.kind,
                                           {},
                                           std::move(frame.body)});
        case launch::FrameKind::finalize:
            rank.finalized = true;
            return report(rank, RankEvent::Kind::finalized);
        case launch::FrameKind::again:
            rank.finalized = false;
            return report(rank, RankEvent::Kind::joins_again);
        case launch::FrameKind::child:
            return take_job(rank, frame);
        case launch::FrameKind::abort:
            return aborted(rank, frame);
        case launch::FrameKind::note:
            return report(
                rank, RankEvent::Kind::noted, 0,
                base::printable(
                    {reinterpret_cast<const char*>(frame.body.data()), frame.body.size()}, 4096));
        case launch::FrameKind::link:
            return listener_.handle_event(
                {RankEvent::Kind::link, rank.number, 0, 0, {}, std::move(frame.body)});
        case launch::FrameKind::waits:
            questions_.answered(rank.number);
            return listener_.handle_event({RankEvent::Kind::waits,
                                           rank.number,
                                           frame.header.sequence,
                                           0,
                                           {},
                                           std::move(frame.body)});
        case launch::FrameKind::page:
            return pages_.opened(rank.number, rank.connected_pid, frame.body);
        case launch::FrameKind::watch:
            rank.watching = true;
            return report(rank, RankEvent::Kind::watching);
        default:
            return report(rank, RankEvent::Kind::failed, exit_failure,
                          fmt::format("sent a frame of unknown kind {}", frame.header.kind));
    }
}

void LocalRanks::hello(Rank& rank, const Frame& frame) {
    launch::Hello hello{};
    if (frame.body.size() == sizeof hello) std::memcpy(&hello, frame.body.data(), sizeof hello);
    if (hello.version != launch::protocol_version || hello.reserved != 0)
        return report(rank, RankEvent::Kind::failed, exit_failure, "sent a damaged greeting");
    if (rank.connected)
        return report(rank, RankEvent::Kind::failed, exit_failure,
                      fmt::format("connected, and then process {} connected in its place: only one "
                                  "of the processes that a rank starts may join the job",
                                  frame.sender));
    rank.connected = true;
    another_mpi_.end();
    rank.connected_pid = frame.sender > 0 ? frame.sender : rank.pid;
    report(rank, RankEvent::Kind::connected, rank.connected_pid);
    if (rank.connected_pid == rank.pid) return;
    rank.connected_process = base::Descriptor(int(syscall(SYS_pidfd_open, rank.connected_pid, 0)));
    if (rank.connected_process)
        loop_.watch(rank.connected_process.get(), EPOLLIN,
                    [this, &rank](auto) { connected_process_ended(rank); });
    else if (errno == ESRCH)  // already reaped by its wrapper
        connected_process_ended(rank);
}

void LocalRanks::take_job(const Rank& rank, const Frame& frame) {
    std::int32_t pid = -1;
    if (frame.body.size() == sizeof pid) std::memcpy(&pid, frame.body.data(), sizeof pid);
    if (pid <= 0)
        return report(rank, RankEvent::Kind::failed, exit_failure,
                      "sent a damaged frame to torus-run");
    // An older one of that number has ended.
    std::erase_if(jobs_, [&](const Job& job) { return job.pid == pid && !job.left; });
    jobs_.push_back({rank.number, pid, frame.header.sequence == 1, false});
}

void LocalRanks::aborted(Rank& rank, const Frame& frame) {
    std::int32_t code = exit_failure;
    std::string text;
    if (frame.body.size() >= sizeof code) {
        std::memcpy(&code, frame.body.data(), sizeof code);
        text.assign(reinterpret_cast<const char*>(frame.body.data()) + sizeof code,
                    frame.body.size() - sizeof code);
    }
    while (!text.empty() && text.back() == '\n') text.pop_back();
    take_output(rank);
    take_deaths_before(rank);
    report(rank, RankEvent::Kind::aborted, code, text);
}

void LocalRanks::send(Channel& channel, std::uint32_t events, launch::FrameHeader header,
                      SharedBytes bytes) {
    channel.send(header, std::move(bytes));
    if (channel.open() && channel.has_unsent()) loop_.change(channel.fd(), events | EPOLLOUT);
}

// Output that a rank printed precedes messages about the rank.
void LocalRanks::take_output(const Rank& rank) {
    streams_.read(std::size_t(&rank - ranks_.data()));
}

void LocalRanks::found_another_mpi(const Rank& rank, const std::optional<std::string>& library) {
    if (library)
        report(rank, RankEvent::Kind::another_mpi, 0,
               fmt::format("{} uses {}", path_of(rank), *library));
}

const std::string& LocalRanks::path_of(const Rank& rank) const {
    return job_.programs[std::size_t(job_.program_of(rank.number))].path;
}

}  // namespace torusmp::torus_run
