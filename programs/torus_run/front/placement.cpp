// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/text.h"
#include "config/fit.h"
#include "config/geometry.h"
#include "config/living.h"
#include "config/load.h"
#include "config/network.h"
#include "config/options.h"
#include "job/settings.h"

namespace torusmp::torus_run {
namespace {

using config::UsageError;
using Names = std::vector<std::string>;

// If the only host is this one, the list of hosts only sets the number of ranks.
bool names_others(const Options& options, const std::string& self) {
    return std::any_of(options.hosts.begin(), options.hosts.end(),
                       [&](const HostSlots& host) { return !is_this_host(host.name, self); });
}

std::vector<std::string> names_of(const std::vector<HostSlots>& hosts) {
    std::vector<std::string> names;
    for (const HostSlots& host : hosts) names.push_back(host.name);
    return names;
}

bool contains(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// By their names in the geometry file, where the list may omit the domain.
Names names_in(const Names& known, const std::vector<HostSlots>& hosts) {
    Names names;
    for (const HostSlots& host : hosts)
        if (const auto found = config::find_host(known, host.name);
            found && !contains(names, known[std::size_t(*found)]))
            names.push_back(known[std::size_t(*found)]);
    return names;
}

// Fewer hosts than the geometry file has, all of them in it.
bool names_a_part(const Options& options, const config::Settings& settings) {
    const std::vector<std::string>& all = host_names(settings);
    return options.hosts.size() < all.size() &&
           std::all_of(options.hosts.begin(), options.hosts.end(), [&](const HostSlots& host) {
               return config::find_host(all, host.name).has_value();
           });
}

// A torus gives each host the same number of ranks; 0 if the list of hosts has none (a,b).
int slots_each(const Options& options) {
    int most = 1;
    for (const HostSlots& host : options.hosts) most = std::max(most, host.slots);
    for (const HostSlots& host : options.hosts)
        if (host.slots != most)
            throw UsageError(
                fmt::format("-host: {} has {} rank{} and another host {}: expected "
                            "the same number for all hosts of a torus",
                            host.name, host.slots, host.slots == 1 ? "" : "s", most));
    return most > 1 ? most : 0;
}

config::Demand demand_of(const Options& options, const config::Settings& settings) {
    config::Demand demand;
    demand.ranks = ranks_asked(options);
    if (demand.ranks) demand.ranks_option = fmt::format("-np {}", *demand.ranks);
    demand.ranks_per_host = options.ranks_per_host;
    demand.ranks_per_host_option = options.ranks_per_host_option;
    if (options.hosts.empty()) return demand;
    demand.hosts_option = fmt::format("-host {}", fmt::join(names_of(options.hosts), ","));
    if (names_a_part(options, settings))
        demand.hosts = names_in(host_names(settings), options.hosts);
    // With -np they are an upper limit, as elsewhere.
    if (demand.ranks_per_host == 0 && !demand.ranks) {
        demand.ranks_per_host = slots_each(options);
        demand.ranks_per_host_option = demand.hosts_option;
    }
    return demand;
}

// A name beside known ones is a mistake, not another machine of the same shape.
void check_known(const Options& options, const config::Settings& settings) {
    const std::vector<std::string>& known = host_names(settings);
    std::vector<std::string> others;
    for (const HostSlots& host : options.hosts)
        if (!config::find_host(known, host.name)) others.push_back(host.name);
    if (!others.empty() && others.size() < options.hosts.size())
        throw UsageError(fmt::format("-host: {} has no host {}: expected hosts among {}",
                                     settings.origin(config::setting::hosts).where,
                                     base::listed(others), fmt::join(known, ", ")));
}

// The machine that the command line and the geometry file describe.
config::Settings load_machine(const Options& options, const std::string& self) {
    config::LoadRequest request = options.settings;
    // First only the file is used, to decide whether -host names a part of its hosts.
    if (names_others(options, self)) {
        const config::Settings alone = config::load(job::schema(), request);
        if (options.hosts.size() == 1 && alone[config::setting::dims].empty())
            request.flags.push_back({"torus.dims", "1", "-host"});
        check_known(options, alone);
        if (!names_a_part(options, alone))
            request.flags.push_back({"nodes.hosts",
                                     fmt::format("{}", fmt::join(names_of(options.hosts), ",")),
                                     "-host"});
    }
    config::Settings settings = config::load(job::schema(), request);
    const std::vector<std::string>& hosts = host_names(settings);
    // Before a part is taken, in which this host may not be.
    if (!options.here.empty() && !hosts.empty() &&
        std::none_of(hosts.begin(), hosts.end(),
                     [&](const std::string& host) { return is_this_host(host, self); }))
        throw UsageError(fmt::format("--here {}: not in nodes.hosts", self));
    return settings;
}

// ---- hosts that are left free ----

Names without(Names names, const Names& others) {
    std::erase_if(names, [&](const std::string& name) { return contains(others, name); });
    return names;
}

std::string own_name(const Names& hosts, const std::string& self) {
    const auto own = std::find_if(hosts.begin(), hosts.end(), [&](const std::string& host) {
        return is_this_host(host, self);
    });
    return own == hosts.end() ? std::string() : *own;
}

// Takes spares and hosts that are left out from those that the job may use.
void leave_free(config::Demand& demand, const Names& allowed, const config::Spares& spares,
                const config::Origin& origin, const Names& left_out, const Names& cut_off,
                const std::string& self) {
    Names reasons;
    if (!demand.hosts.empty()) reasons.push_back(demand.hosts_option);
    if (spares.count > 0) reasons.push_back(fmt::format("nodes.spares ({})", origin.where));
    if (!left_out.empty()) reasons.push_back(fmt::format("--without {}", fmt::join(left_out, ",")));
    if (!cut_off.empty())
        reasons.push_back(fmt::format("dead cables of {}", fmt::join(cut_off, ",")));
    demand.hosts_option = fmt::format("{}", fmt::join(reasons, " with "));
    demand.hosts = without(without(without(allowed, spares.names), left_out), cut_off);
    demand.free = spares.names.empty() ? spares.count : 0;
    demand.first = own_name(demand.hosts, self);
    if (int(demand.hosts.size()) <= demand.free)
        throw UsageError(fmt::format("{} leaves no host for ranks: the job has {}",
                                     demand.hosts_option, base::listed(allowed)));
}

// ---- restarts ----

// The ranks on each host must not change.
bool each_is_given(const Options& options, const config::Settings& machine) {
    return options.ranks_per_host != 0 || !machine[config::setting::ranks_per_node].empty();
}

// Tries one number of hosts after the other, the best first.
class Replacement {
  public:
    Replacement(const Options& options, const std::string& self, const Restart& restart,
                const config::Settings& machine, const Names& allowed)
        : options_(options),
          before_(restart.before->settings),
          machine_(machine),
          allowed_(int(allowed.size())) {
        const Names living = without(without(allowed, restart.unusable), options.without);
        sound_ = without(living, restart.lost);
        all_ = sound_;
        // The host that died first has had the longest time to come back.
        for (const std::string& host : restart.lost)
            if (contains(living, host)) all_.push_back(host);
        hosts_ = int(host_names(before_).size());
        each_ = ranks_on_a_node(before_);
        self_ = own_name(living, self);
        why_ = fmt::format("restart {}", restart.number);
    }

    config::Settings choose() {
        if (take(hosts_, each_, sound_, any) || take(hosts_, each_, all_, any) || more_on_each() ||
            fewer())
            return machine_;
        throw UsageError(refusal());
    }

  private:
    enum Shape { any, box };

    bool take(int hosts, int each, const Names& usable, Shape shape) {
        const config::Team team{hosts, each, usable, &before_, self_, why_};
        const bool torus = !machine_[config::setting::links].empty() ||
                           !machine_[config::setting::host_links].empty();
        return (shape == any || !torus || has_box(machine_, team)) &&
               fit_living(machine_, team).empty();
    }

    // The same ranks on fewer hosts, a box of the torus if possible.
    bool more_on_each() {
        const int ranks = hosts_ * each_;
        if (each_is_given(options_, machine_)) return false;
        for (int hosts = std::min(hosts_ - 1, int(sound_.size())); hosts >= 1; --hosts)
            if (ranks % hosts == 0 && (take(hosts, ranks / hosts, sound_, box) ||
                                       take(hosts, ranks / hosts, sound_, any)))
                return true;
        return false;
    }

    // Fewer ranks, on a smaller torus.
    bool fewer() {
        if (!may_shrink(options_)) return false;
        for (int hosts = std::min(hosts_ - 1, int(sound_.size())); hosts >= 1; --hosts)
            if (take(hosts, each_, sound_, box)) return true;
        return false;
    }

    std::string refusal() const {
        return fmt::format(
            "no restart: {} ranks with {} on each host need {} hosts, and {} of {} can be used{}",
            hosts_ * each_, each_, hosts_, all_.size(), allowed_,
            int(all_.size()) >= hosts_ ? ", but no cables connect so many" : "");
    }

    const Options& options_;
    const config::Settings& before_;
    config::Settings machine_;
    const int allowed_;  // hosts of the machine that the user allows
    Names sound_, all_;  // hosts that can be used: `all_` with those that died once
    int hosts_ = 0, each_ = 1;
    std::string self_, why_;
};

}  // namespace

std::optional<int> ranks_asked(const Options& options) {
    const std::vector<ProgramOptions>& programs = options.programs;
    if (programs.size() == 1) return programs.front().ranks;
    int ranks = 0;
    for (const ProgramOptions& program : programs) ranks += program.ranks.value_or(1);
    return ranks;
}

bool may_shrink(const Options& options) {
    const auto has_grid = [](const ProgramOptions& program) {
        return contains(program.command, "-qmp-geom");
    };
    return !ranks_asked(options) &&
           std::none_of(options.programs.begin(), options.programs.end(), has_grid);
}

bool is_this_host(const std::string& name, const std::string& self) {
    const auto short_name = [](const std::string& host) { return host.substr(0, host.find('.')); };
    const bool whole = name.find('.') != std::string::npos && self.find('.') != std::string::npos;
    return name == "localhost" || (whole ? name == self : short_name(name) == short_name(self));
}

namespace {

config::Settings fitted_part(config::Settings machine, const Options& options,
                             const std::string& self, const Restart& restart) {
    const config::Spares spares = machine[config::setting::spares];
    const config::Origin origin = machine.origin(config::setting::spares);
    machine.set(config::setting::spares, config::Spares(), config::Origin());
    config::Demand demand = demand_of(options, machine);
    const Names allowed = demand.hosts.empty() ? host_names(machine) : demand.hosts;
    if (restart.before) return Replacement(options, self, restart, machine, allowed).choose();
    if (spares.count > 0 || !options.without.empty() || !restart.unusable.empty())
        leave_free(demand, allowed, spares, origin, options.without, restart.unusable, self);
    config::fit(machine, demand);
    return machine;
}

}  // namespace

config::Settings place_job(const Options& options, const std::string& self,
                           const Restart& restart) {
    const bool again = restart.before != nullptr;
    if (again && restart.lost.empty() && restart.unusable.empty()) return restart.before->settings;
    config::Settings machine = load_machine(options, self);
    if (host_names(machine).empty() && options.without.empty()) return machine;
    if (host_names(machine).empty())
        throw UsageError(
            "--without needs nodes.hosts, which is not set: it names some of its hosts");
    check_hosts(options.without, machine, "--without");
    config::Settings part = fitted_part(machine, options, self, restart);
    if (host_names(part) != host_names(machine))
        part.set_whole(std::make_shared<const config::Settings>(std::move(machine)));
    return part;
}

std::string describe_placement(const Job& before, const Job& now) {
    const Names old = host_names(before.settings), names = host_names(now.settings);
    if (old == names) return "on the same hosts";
    const int each = int(now.hosts.front().ranks.size());
    Names pairs;
    if (old.size() == names.size())
        for (std::size_t node = 0; node < names.size(); ++node)
            if (old[node] != names[node])
                pairs.push_back(fmt::format("{} takes the place of {}", names[node], old[node]));
    std::string text =
        !pairs.empty() && 2 * pairs.size() <= names.size()
            ? base::listed(pairs)
            : fmt::format("{} ranks on {}, {} on each", now.size(), base::listed(names), each);
    if (now.settings[config::setting::cables].nodes &&
        !before.settings[config::setting::cables].nodes)
        text += "; these hosts do not form a torus, so their cables are used as a graph";
    return text;
}

}  // namespace torusmp::torus_run
