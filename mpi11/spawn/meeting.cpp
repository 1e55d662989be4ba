// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/meeting.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "config/geometry.h"
#include "config/network.h"
#include "mpi11/error/check.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

// This machine and its network, which processes must share that meet by abstract sockets and shared
// memory: another container has another one.
std::string own_machine() {
    struct stat network {};
    stat("/proc/self/ns/net", &network);
    return fmt::format("machine {} network {}", config::this_machine(), network.st_ino);
}

void refuse(Talk& talk, const std::string& why) {
    try {
        talk.invite({.meeting = {}, .why = why, .first_side = 0, .processes = 0});
    } catch (const std::runtime_error&) {
        // It has left.
    }
}

// Connections to the other side that end before it has concluded mean that it is gone.
struct Line {
    explicit Line(std::shared_ptr<Talk> with) : talk(std::move(with)) {}
    void look() {
        if (done || gone) return;
        try {
            done = talk->receive() == concluded;
        } catch (const std::runtime_error& failure) {
            gone = true;
            why = failure.what();
        }
    }
    std::shared_ptr<Talk> talk;
    bool done = false, gone = false;
    std::string why;  // it is gone
};

void watch(Arrangement& arranged, const std::shared_ptr<Line>& line, job::Subjob* meeting) {
    arranged.given_up = [line, meeting] {
        line->look();
        return line->gone || (meeting != nullptr && meeting->ended());
    };
    arranged.why = [line] { return line->why; };
}

}  // namespace

std::string await_message(Talk& talk) {
    std::optional<std::string> text;
    wait_idly([&] { return (text = talk.receive()).has_value(); });
    return *text;
}

Invitation await_invitation(Talk& talk) {
    try {
        return invitation_of(await_message(talk));
    } catch (const std::runtime_error& failure) {
        fail(MPI_ERR_PORT, "{}", failure.what());
    }
}

Introduction introduction(const job::Process& job, const std::vector<int>& nodes) {
    const auto& hosts = job::machine_hosts(job.settings());
    if (hosts.empty()) return {std::vector(nodes.size(), own_machine())};
    Introduction introduction;
    for (const int node : nodes) introduction.hosts.push_back(hosts[std::size_t(node)]);
    return introduction;
}

std::vector<int> nodes_of(const Introduction& others, const job::Process& job) {
    const auto& named = job::machine_hosts(job.settings());
    const std::vector<std::string> all = named.empty() ? std::vector{own_machine()} : named;
    if (others.hosts.empty()) fail(MPI_ERR_PORT, "found 0 processes, expected 1 or more");
    std::vector<int> nodes;
    for (const std::string& host : others.hosts) {
        const auto found = std::find(all.begin(), all.end(), host);
        if (found == all.end())
            fail(MPI_ERR_PORT,
                 "the other job has a process on {}, which is not a host of this job's machine: "
                 "expected jobs that use the same geometry file",
                 host.starts_with("machine ") ? "another machine, or without a geometry file"
                                              : host);
        nodes.push_back(int(found - all.begin()));
    }
    return nodes;
}

bool are_on_hosts_of(const job::Process& job, const Introduction& others) {
    try {
        nodes_of(others, job);
        return true;
    } catch (const Failure&) {
        return false;
    }
}

std::optional<Arrangement> host_meeting(std::shared_ptr<Talk> talk, const Introduction& others,
                                        const job::Process& job, std::vector<int> nodes) {
    Arrangement arranged;
    arranged.place.name = new_meeting_name();
    arranged.place.first_side = int(nodes.size());
    try {
        const std::vector<int> theirs = nodes_of(others, job);
        nodes.insert(nodes.end(), theirs.begin(), theirs.end());
    } catch (const Failure& failure) {
        refuse(*talk, failure.text());
        return std::nullopt;
    }
    arranged.place.processes = int(nodes.size());
    try {
        arranged.meeting = start_meeting(arranged.place.name, job, nodes, arranged.place.processes);
    } catch (const std::exception& failure) {
        refuse(*talk, failure.what());
        throw;
    }
    const Invitation invitation{.meeting = arranged.place.name,
                                .why = {},
                                .first_side = arranged.place.first_side,
                                .processes = arranged.place.processes};
    try {
        talk->invite(invitation);
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
    watch(arranged, std::make_shared<Line>(talk), arranged.meeting.get());
    arranged.succeeded = [talk] { talk->conclude(); };
    return arranged;
}

Arrangement host_only_meeting(std::shared_ptr<Talk> talk, const Introduction& others,
                              const job::Process& job, const std::vector<int>& nodes) {
    if (auto arranged = host_meeting(std::move(talk), others, job, nodes))
        return std::move(*arranged);
    nodes_of(others, job);  // throws the reason
    throw std::runtime_error(has_left);
}

Arrangement visit_meeting(std::shared_ptr<Talk> talk, const Invitation& invitation) {
    if (invitation.meeting.empty())
        fail(MPI_ERR_PORT, "the other side has refused: {}", invitation.why);
    Arrangement arranged;
    arranged.place = {.name = invitation.meeting,
                      .first_side = invitation.first_side,
                      .processes = invitation.processes};
    arranged.first_index = invitation.first_side;
    const auto line = std::make_shared<Line>(std::move(talk));
    watch(arranged, line, nullptr);
    // Nothing may be left in a socket of the program.
    arranged.succeeded = [line] {
        wait_idly([&] {
            line->look();
            return line->done || line->gone;
        });
    };
    return arranged;
}

}  // namespace torusmp::mpi
