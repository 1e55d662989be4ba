// SPDX-License-Identifier: BSD-3-Clause
// What torus-info prints: the settings with their origins, the torus, this host and where its ranks
// would run; as text for people and as JSON for scripts.
//
// A Report is a plain value; make_report() asks the host once, the printers only format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/binding.h"
#include "config/host.h"
#include "config/settings.h"
#include "programs/torus_info/links.h"

namespace torusmp::config {

struct Report {
    Settings settings;
    int ranks = 0;         // of the whole job
    int local_ranks = 0;   // of them on one host
    routing::Torus torus;  // of the ranks
    Host host;
    std::vector<CpuList> binding;   // by local rank
    std::optional<int> node;        // which node this host is; nothing: none, or no hosts are named
    std::vector<LinkReport> links;  // links that leave it
    // What prevents this node's kernel from forwarding frames of far ranks; empty: nothing.
    // Nothing: it has no links.
    std::optional<std::string> forwarding_trouble;
};

// `ranks`: nothing: as many as the torus has, or as this host has cores. Throws ConfigError,
// HostError.
Report make_report(const Settings& settings, std::optional<int> ranks);

std::string report_text(const Report& report);
std::string report_json(const Report& report);

}  // namespace torusmp::config
