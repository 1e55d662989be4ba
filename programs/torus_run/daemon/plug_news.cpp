// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/plug_news.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "config/cable.h"
#include "config/geometry.h"
#include "programs/torus_run/front/cable_verdict.h"

namespace torusmp::torus_run {

void PlugNews::dead_at_start(std::span<const routing::Link> cables) {
    dead_.insert(cables.begin(), cables.end());
}

bool PlugNews::heard(int node, const LinkTrouble& trouble, Clock::time_point now) {
    const auto torus = node_torus(settings_);
    if (!torus || node < 0 || node >= torus->size()) return false;
    config::Plug far;
    std::istringstream words(trouble.what);
    if (!(words >> far.node >> far.device) || far.node < 0 || far.node >= torus->size())
        return false;
    plugs_[{node, trouble.device}] = far;
    report_at_ = now + settling;
    return true;
}

void PlugNews::forget() {
    plugs_.clear();
    report_at_.reset();
}

std::string PlugNews::why_no_way() const {
    if (const std::string why = why_no_detours(settings_); !why.empty())
        return "No job can start: " + why;
    const std::vector<routing::Link> dead(dead_.begin(), dead_.end());
    const routing::Parts parts(*node_torus(settings_), dead);
    if (parts.connected()) return {};
    return "No detour is left around these cables: " + config::describe_parts(settings_, parts);
}

std::optional<PlugNews::Verdict> PlugNews::due(Clock::time_point now) {
    if (!report_at_ || now < *report_at_) return std::nullopt;
    report_at_.reset();
    Verdict verdict;
    for (const config::PlugFault& fault : config::find_plug_faults(settings_, plugs_)) {
        dead_.insert(fault.cables.begin(), fault.cables.end());
        bool fresh = false;
        for (const routing::Link& cable : fault.cables) {
            if (!reported_.insert(cable).second) continue;
            verdict.cables.push_back(cable);
            fresh = true;
        }
        if (fresh) verdict.lines.push_back(fault.text);
    }
    if (verdict.lines.empty()) return std::nullopt;
    if (const std::string why = why_no_way(); !why.empty())
        verdict.refusal = fmt::format("{} {}", fmt::join(verdict.lines, " "), why);
    return verdict;
}

}  // namespace torusmp::torus_run
