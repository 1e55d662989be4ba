// What could be better on a machine on which nothing is wrong: RDMA that is there and not used.
#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "base/units.h"
#include "config/choice.h"
#include "config/geometry.h"
#include "config/network.h"
#include "core/transport/common/settings.h"

namespace torusmp::config {

namespace {

using routing::Direction;

// Messages of one kind: the first, and how many more there were.
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

bool has_rdma(const Settings& settings, const CableEnd& end) {
    return end.facts->find_rdma(link_device(settings, end.node, end.direction)) != nullptr;
}

void note_cable(const Settings& settings, const CableEnd& one, const CableEnd& other,
                Kinds& notes) {
    if (!has_rdma(settings, one) && !has_rdma(settings, other)) return;
    for (const CableEnd* end : {&one, &other})
        if (settings[transport::setting::use] == transport::any_transport)
            if (const auto trouble = rdma_trouble(settings, *end)) {
                notes.add("tcp", fmt::format("{} goes over TCP although RDMA is there: {}{}{}",
                                             describe_link(settings, one, other), trouble->what,
                                             trouble->remedy.empty() ? "" : ": ", trouble->remedy));
                return;
            }
    try {
        const LinkChoice choice = choose_link(settings, one, other, false);
        if (choice.carrier == Carrier::verbs && !choice.warning.empty())
            notes.add("mtu", choice.warning);
        else if (choice.carrier == Carrier::tcp && choice.warning.empty())
            notes.add("pair", fmt::format("{} goes over TCP although RDMA is there: {}",
                                          describe_link(settings, one, other), choice.reason));
    } catch (const ConfigError&) {
        // Said by check_machine().
    }
}

void note_lock_limit(const Settings& settings, int node, const HostFacts& facts, Kinds& notes) {
    if (facts.rdma.empty() || locks_enough(settings, facts)) return;
    notes.add(
        "lock",
        fmt::format("host {} lets a process lock {} of memory, and each rank needs {} for "
                    "verbs: {}",
                    host_names(settings)[std::size_t(node)], base::format_size(*facts.lock_limit),
                    base::format_size(locked_memory_needed(settings)), lock_remedy()));
}

}  // namespace

std::vector<std::string> machine_notes(const Settings& settings,
                                       const std::vector<HostFacts>& by_node) {
    const auto torus = node_torus(settings);
    const std::string& use = settings[transport::setting::use];
    if (host_names(settings).empty() || !torus || use == "tcp" || use == "shm") return {};
    if (by_node.size() != host_names(settings).size())
        throw std::invalid_argument(fmt::format("facts of {} hosts, expected {}", by_node.size(),
                                                host_names(settings).size()));
    Kinds notes;
    for (int node = 0; node < torus->size(); ++node) {
        for (int d = 0; d < torus->dimensions(); ++d) {
            const Direction up{d, +1};
            const auto next = torus->neighbour(node, up);
            if (next && *next != node)
                note_cable(settings, {node, up, &by_node[std::size_t(node)]},
                           {*next, up.opposite(), &by_node[std::size_t(*next)]}, notes);
        }
        note_lock_limit(settings, node, by_node[std::size_t(node)], notes);
    }
    return notes.texts();
}

}  // namespace torusmp::config
