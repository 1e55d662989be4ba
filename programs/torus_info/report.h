// SPDX-License-Identifier: BSD-3-Clause
// The report of torus-info: the links, the torus, this host and its ranks' processors, and the
// settings with their origins; as text for people and as JSON for scripts.
//
// A Report is a plain value. Only make_report() queries the host; the printers only format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/binding.h"
#include "config/host.h"
#include "config/settings.h"
#include "programs/torus_info/links.h"

namespace torusmp::torus_info {

struct Report {
    config::Settings settings;
    int ranks = 0;         // of the whole job
    int local_ranks = 0;   // on one host
    routing::Torus torus;  // of the ranks
    config::Host host;
    std::vector<config::CpuList> binding;  // by local rank
    std::optional<int> node;  // this host's node; nullopt if it has none, or no hosts are named
    std::vector<LinkReport> links;  // links that leave the node
    // Why this node's kernel cannot forward frames between other ranks; empty if it can. Nullopt if
    // the node has no links.
    std::optional<std::string> forwarding_trouble;
};

// If `ranks` is empty, the size of the torus counts, or the number of this host's cores. Throws
// ConfigError, HostError.
Report make_report(const config::Settings& settings, std::optional<int> ranks);

// With `here`, also prints this host and its ranks' processors, which are always printed if no
// hosts are named.
std::string report_text(const Report& report, bool here);
std::string report_json(const Report& report);

}  // namespace torusmp::torus_info
