// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/order.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <random>

#include "config/geometry.h"
#include "launch/settings.h"
#include "programs/torus_run/streams/output.h"

namespace torusmp::torus_run {
namespace {

unsigned file_mode_mask() {
    const mode_t mask = umask(022);
    umask(mask);
    return unsigned(mask);
}

// With torus routing the head's own node is the root; a head outside the torus reaches node 0.
std::vector<int> plan_ways(const Job& job) {
    const auto own = std::find_if(job.hosts.begin(), job.hosts.end(),
                                  [](const HostPlan& host) { return host.here; });
    const int start = own == job.hosts.end() ? -1 : int(own - job.hosts.begin());
    std::vector<int> parents(job.hosts.size(), start);
    if (const auto nodes = launch_torus(job)) parents = spanning_tree(*nodes, std::max(start, 0));
    if (start >= 0) parents[std::size_t(start)] = -1;
    return parents;
}

std::string absolute(const std::string& file, const std::string& folder) {
    return file.empty() || file.front() == '/' ? file : folder + "/" + file;
}

// On a terminal the ranks write line by line, and may print prompts; the output of a single rank
// needs no separation of lines.
Capture what_to_capture(const Job& job, bool here) {
    const bool all = !here || job.tag_output;
    const auto through_us = [&](int fd) { return all || (job.size() > 1 && isatty(fd) == 0); };
    Capture capture{through_us(STDOUT_FILENO) || !job.files.output.empty(),
                    through_us(STDERR_FILENO) || !job.files.errors.empty(), false};
    capture.together = !job.tag_output && !job.files.any() && capture.output && capture.errors &&
                       same_file(STDOUT_FILENO, STDERR_FILENO);
    return capture;
}

}  // namespace

std::vector<int> spanning_tree(const routing::Torus& nodes, int start) {
    std::vector<int> parents(std::size_t(nodes.size()), -2);
    parents[std::size_t(start)] = -1;
    std::deque<int> next{start};
    while (!next.empty()) {
        const int node = next.front();
        next.pop_front();
        for (int i = 0; i < 2 * nodes.link_dimensions(); ++i) {
            const auto other = nodes.neighbour(node, routing::Direction::from_index(i));
            if (!other || parents[std::size_t(*other)] != -2) continue;
            parents[std::size_t(*other)] = node;
            next.push_back(*other);
        }
    }
    return parents;
}

std::optional<routing::Torus> launch_torus(const Job& job) {
    auto nodes = node_torus(job.settings);
    if (job.settings[launch::setting::through] != launch::Through::torus || !nodes ||
        nodes->size() != int(job.hosts.size()))
        return std::nullopt;
    return nodes;
}

HostOrder make_tree(const Job& job) {
    HostOrder tree;
    tree.working_directory = job.working_directory;
    tree.file_mode_mask = file_mode_mask();
    tree.parents = plan_ways(job);
    if (job.hosts.size() == 1 && job.hosts.front().here) return tree;
    tree.geometry = absolute(job.settings.file(), job.working_directory);
    tree.routes = job.settings[config::setting::forward] == config::Forward::kernel;
    tree.over_links = launch_torus(job).has_value();
    for (const HostPlan& host : job.hosts) tree.hosts.push_back(host.name);
    tree.agent = job.settings[launch::setting::agent];
    tree.torus_run = job.torus_run;
    std::random_device random;
    tree.key = std::uint64_t(random()) << 32 | random();
    tree.job.environment = job.common.environment;  // this includes the settings
    return tree;
}

void set_variable(std::vector<std::string>& environment, const std::string& variable) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(environment, [&](const std::string& other) { return other.starts_with(name); });
    environment.push_back(variable);
}

HostOrder make_order(const Job& job, const HostOrder& tree, int node) {
    HostOrder order = tree;
    const HostPlan& host = job.hosts[std::size_t(node)];
    order.job = job.common;
    order.job.node = node;
    order.job.host = host.name;
    order.job.ranks = host.ranks;
    if (host.here)
        for (std::size_t i = 0; i < job.own_paths.size(); ++i)
            order.job.programs[i].path = job.own_paths[i];
    order.job.capture = what_to_capture(job, host.here);
    // Over the torus any host may have to start other daemons if a cable is dead.
    if (!tree.over_links &&
        std::find(tree.parents.begin(), tree.parents.end(), node) == tree.parents.end()) {
        order.parents.clear();
        order.hosts.clear();
    }
    return order;
}

}  // namespace torusmp::torus_run
