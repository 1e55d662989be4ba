// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/meeting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

#include "config/geometry.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

const std::vector<std::string>& own_hosts() {
    return host_names(library().process->settings());
}

// In this job's geometry; nothing if it is not there. A job without one knows a host without a
// name.
std::optional<int> node_named(const std::string& host) {
    const auto& all = own_hosts();
    if (all.empty() && host.empty()) return 0;
    const auto found = std::find(all.begin(), all.end(), host);
    if (found == all.end()) return std::nullopt;
    return int(found - all.begin());
}

std::vector<int> nodes_of(const Introduction& others) {
    std::vector<int> nodes;
    for (const std::string& host : others.hosts) {
        const std::optional<int> node = node_named(host);
        if (!node)
            throw std::runtime_error(fmt::format(
                "the other job has a process on {}, which is not a host of this job: expected jobs "
                "on the same hosts",
                host.empty() ? std::string("a host without a name") : host));
        nodes.push_back(*node);
    }
    return nodes;
}

}  // namespace

std::string next_text(Talk& talk) {
    for (;;) {
        if (auto text = talk.hear()) return *text;
        if (!runtime().progress()) usleep(200);
    }
}

Introduction introduction(const std::vector<int>& nodes) {
    Introduction introduction;
    for (const int node : nodes)
        introduction.hosts.push_back(own_hosts().empty() ? std::string()
                                                         : own_hosts()[std::size_t(node)]);
    return introduction;
}

bool are_on_own_hosts(const Introduction& others) {
    return std::all_of(others.hosts.begin(), others.hosts.end(),
                       [](const std::string& host) { return node_named(host).has_value(); });
}

Arrangement host_meeting(std::shared_ptr<Talk> talk, const Introduction& others,
                         std::vector<int> nodes) {
    Arrangement arranged;
    try {
        arranged.name = new_meeting_name();
        arranged.first_side = int(nodes.size());
        const std::vector<int> theirs = nodes_of(others);
        nodes.insert(nodes.end(), theirs.begin(), theirs.end());
        arranged.meeting = start_meeting(arranged.name, nodes);
    } catch (const std::exception& failure) {
        talk->invite({{}, failure.what(), 0});
        throw;
    }
    talk->invite({arranged.name, {}, arranged.first_side});
    job::Subjob* const meeting = arranged.meeting.get();
    const auto gone = std::make_shared<bool>(false);
    arranged.given_up = [talk, meeting, gone] {
        try {
            talk->hear();
        } catch (const std::runtime_error&) {
            *gone = true;
        }
        return *gone || meeting->ended().has_value();
    };
    arranged.why = [gone] { return std::string(*gone ? has_left : ""); };
    arranged.succeeded = [talk] { talk->conclude(); };
    return arranged;
}

Arrangement visit_meeting(std::shared_ptr<Talk> talk) {
    const Invitation invitation = invitation_of(next_text(*talk));
    if (invitation.meeting.empty())
        throw std::runtime_error(fmt::format("the other side refuses: {}", invitation.why));
    Arrangement arranged;
    arranged.name = invitation.meeting;
    arranged.first_side = arranged.first_index = invitation.first_side;
    const auto done = std::make_shared<bool>(false);
    const auto gone = std::make_shared<bool>(false);
    const auto look = [talk, done, gone] {
        try {
            if (!*done && talk->hear() == concluded) *done = true;
        } catch (const std::runtime_error&) {
            *gone = !*done;
        }
    };
    arranged.given_up = [look, gone] {
        look();
        return *gone;
    };
    // Nothing may be left in a socket of the program.
    arranged.succeeded = [look, done, gone] {
        while (!*done && !*gone) {
            look();
            if (!runtime().progress()) usleep(200);
        }
    };
    arranged.why = [gone] { return std::string(*gone ? has_left : ""); };
    return arranged;
}

}  // namespace torusmp::mpi
