// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "config/geometry.h"
#include "core/transport/choice.h"
#include "core/transport/list.h"

namespace torusmp::transport {
namespace {

using config::CableEnd;
using config::HostFacts;
using config::Settings;
using routing::Direction;

void ask_transports(HostFacts& facts, const std::vector<std::string>& devices) {
    for (const Descriptor* it : transports())
        if (auto offers = it->probe.offers(devices); !offers.empty())
            facts.offers[std::string(it->name)] = std::move(offers);
}

// Messages of one kind: the first one, and the number of others.
class Kinds {
  public:
    void add(const std::string& kind, const std::string& message) {
        if (++counts_[kind] == 1) messages_.push_back({kind, message});
    }
    std::vector<std::string> texts() const {
        std::vector<std::string> all;
        for (const auto& [kind, message] : messages_) {
            const int more = counts_.at(kind) - 1;
            all.push_back(message + (more ? fmt::format(" (and {} more like this)", more) : ""));
        }
        return all;
    }

  private:
    std::map<std::string, int> counts_;
    std::vector<std::pair<std::string, std::string>> messages_;
};

// Notes a cable that could use `better`, unless it uses that or a better one.
void note_cable(const Settings& settings, const Descriptor& better, const CableEnd& one,
                const CableEnd& other, Kinds& notes) {
    if (!better.probe.is_there(settings, one) && !better.probe.is_there(settings, other)) return;
    const std::string name(better.name);
    const LinkChoice choice = choose_link(settings, one, other);
    if (choice.carrier->rank > better.rank) return;
    if (choice.carrier == &better) {
        const std::string warning = better.probe.warning(settings, one, other);
        if (!warning.empty()) notes.add(name + " warns", warning);
        return;
    }
    const auto although = [&](const char* kind, const std::string& why) {
        notes.add(name + kind, fmt::format("{} uses {} instead of {}: {}",
                                           config::describe_link(settings, one, other),
                                           choice.carrier->title, better.title, why));
    };
    for (const CableEnd* end : {&one, &other})
        if (const auto trouble = better.probe.trouble(settings, *end))
            return although(" end", trouble->text());
    // The remaining causes are a pair that does not match, or a host that lacks a resource; in the
    // second case the note is about the host.
    if (const auto trouble = better.probe.trouble_between(settings, one, other))
        although(" pair", trouble->text());
}

// Transports that a machine may have on some cables only: they need devices, and are requested or
// better than the fallback.
std::vector<const Descriptor*> those_that_may_be_there(const Settings& settings) {
    const Descriptor* const wanted = wanted_transport(settings);
    const int any = fallback_transport().rank;
    std::vector<const Descriptor*> found;
    for (const Descriptor* it : transports())
        if (it->needs_devices && (wanted == it || (wanted == nullptr && it->rank > any)))
            found.push_back(it);
    return found;
}

}  // namespace

HostFacts this_host(const std::string& geometry_file, bool with_routes) {
    HostFacts facts = config::this_host(geometry_file, with_routes);
    ask_transports(facts, {});
    return facts;
}

HostFacts facts_of_links(const Settings& settings, int node) {
    HostFacts facts = config::facts_of_links(settings, node);
    const std::vector<std::string> devices = config::link_devices(settings, node);
    if (!devices.empty()) ask_transports(facts, devices);
    return facts;
}

HostFacts parse_facts(std::string_view text) {
    HostFacts facts = config::parse_facts(text);
    for (const Descriptor* it : transports())
        if (const auto found = facts.offers.find(std::string(it->name));
            found != facts.offers.end())
            it->probe.check(found->second);
    return facts;
}

std::vector<config::MachineFault> find_faults(const Settings& settings,
                                              const std::vector<HostFacts>& by_node,
                                              const config::Locations& locations,
                                              const std::string& geometry) {
    // A requested transport must work on every cable; otherwise each cable uses what it can.
    const Descriptor* const wanted = wanted_transport(settings);
    const auto judge = [&](const CableEnd& one, const CableEnd& other) -> std::string {
        if (wanted == nullptr || !wanted->needs_devices) return {};
        try {
            choose_link(settings, one, other);
        } catch (const config::ConfigError& error) {
            return error.what();
        }
        return {};
    };
    return config::find_faults(settings, by_node, locations, geometry, judge);
}

std::vector<std::string> check_machine(const Settings& settings,
                                       const std::vector<HostFacts>& by_node,
                                       const config::Locations& locations,
                                       const std::string& geometry) {
    std::vector<std::string> texts;
    for (config::MachineFault& fault : find_faults(settings, by_node, locations, geometry))
        texts.push_back(std::move(fault.text));
    return texts;
}

std::vector<std::string> machine_notes(const Settings& settings,
                                       const std::vector<HostFacts>& by_node) {
    const auto torus = node_torus(settings);
    const auto& hosts = host_names(settings);
    const auto candidates = those_that_may_be_there(settings);
    if (hosts.empty() || !torus || candidates.empty()) return {};
    if (by_node.size() != hosts.size())
        throw std::invalid_argument(
            fmt::format("facts of {} hosts, expected {}", by_node.size(), hosts.size()));
    Kinds notes;
    for (int node = 0; node < torus->size(); ++node) {
        const HostFacts& facts = by_node[std::size_t(node)];
        for (const Descriptor* it : candidates) {
            for (int d = 0; d < torus->link_dimensions(); ++d) {
                const Direction up{d, +1};
                const auto next = torus->neighbour(node, up);
                if (!next || *next == node) continue;
                try {
                    note_cable(settings, *it, {node, up, &facts},
                               {*next, up.opposite(), &by_node[std::size_t(*next)]}, notes);
                } catch (const config::ConfigError&) {
                    // Reported by check_machine().
                }
            }
            if (const auto note = it->probe.host_note(settings, node, facts); !note.empty())
                notes.add(std::string(it->name) + " host", note);
        }
    }
    return notes.texts();
}

bool reaches_link_addresses(const Settings& settings) {
    const Descriptor* const wanted = wanted_transport(settings);
    return std::any_of(transports().begin(), transports().end(), [&](const Descriptor* it) {
        return it->reaches_link_addresses && (wanted == nullptr || wanted == it);
    });
}

}  // namespace torusmp::transport
