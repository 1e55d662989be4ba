// SPDX-License-Identifier: BSD-3-Clause
#include "job/subjob.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "config/cpus.h"
#include "config/fit.h"
#include "config/geometry.h"
#include "config/living.h"
#include "job/processors.h"
#include "launch/environment.h"

namespace torusmp::job {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
    return access(path.c_str(), X_OK) == 0;
}

// The folder of torus-run: from a variable that torus-run sets for its ranks; without a launcher,
// beside the library, then from PATH.
fs::path find_folder() {
    if (const char* const path = std::getenv(launch::env_torus_run))
        return fs::path(path).parent_path();
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&torus_run_path), &info) != 0 &&
        info.dli_fname != nullptr) {
        std::error_code error;
        const fs::path library = fs::canonical(info.dli_fname, error);
        for (fs::path folder = library.parent_path(); folder.has_relative_path();
             folder = folder.parent_path())
            if (is_program(folder / "bin" / "torus-run")) return folder / "bin";
    }
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
        const std::size_t colon = std::min(rest.find(':'), rest.size());
        const fs::path folder(rest.substr(0, colon));
        if (is_program(folder / "torus-run")) return folder;
        rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
    return {};
}

// torus-run gets the settings as options; they may not come from another file. What belongs to this
// rank it removes itself, as for every torus-run that a rank starts.
bool is_inherited(std::string_view variable) {
    return !variable.starts_with("TORUSMP_SETTINGS") && !variable.starts_with("TORUSMP_CONFIG=");
}

// The settings of a further job, as torus-run fits them. Throws ConfigError.
config::Settings fitted(const config::Settings& settings, int ranks,
                        const std::vector<std::string>& hosts) {
    config::Settings fitted = settings;
    fitted.set(config::setting::ranks_per_node, {}, {});
    fitted.set(config::setting::spares, {}, {});
    config::Demand demand;
    demand.ranks = ranks;
    demand.ranks_option = fmt::format("maxprocs {}", ranks);
    demand.hosts = hosts;
    demand.hosts_option = fmt::format("host {}", fmt::join(hosts, ","));
    config::fit(fitted, demand);
    rank_torus(fitted, ranks);
    return fitted;
}

int node_named(const config::Settings& settings, const std::string& host) {
    const std::vector<std::string>& all = machine_hosts(settings);
    return int(std::find(all.begin(), all.end(), host) - all.begin());
}

// By rank.
std::vector<int> nodes_of(const config::Settings& fitted, int ranks,
                          const config::Settings& settings) {
    std::vector<int> nodes;
    for (int rank = 0; rank < ranks; ++rank)
        nodes.push_back(
            node_named(settings, host_names(fitted)[std::size_t(node_of(fitted, rank))]));
    return nodes;
}

// This job's, if it has all these hosts; otherwise the machine's.
const config::Settings& settings_with(const config::Settings& settings,
                                      const std::vector<std::string>& hosts) {
    const std::vector<std::string>& own = host_names(settings);
    const bool all = std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
        return std::find(own.begin(), own.end(), host) != own.end();
    });
    return all ? settings : settings.whole();
}

// A box of that many hosts; empty if there is none.
std::vector<std::string> host_box(const config::Settings& settings, int hosts) {
    try {
        return host_names(fitted(settings, hosts, {}));
    } catch (const config::ConfigError&) {
        return {};
    }
}

}  // namespace

std::string torus_run_path() {
    const fs::path folder = find_folder();
    return folder.empty() ? std::string() : (folder / "torus-run").string();
}

const std::vector<std::string>& machine_hosts(const config::Settings& settings) {
    return host_names(settings.whole());
}

std::string host_of(const config::Settings& settings, int node) {
    const std::vector<std::string>& all = machine_hosts(settings);
    return all.empty() ? std::string() : all[std::size_t(node)];
}

int own_node(const config::Settings& settings, int rank) {
    if (host_names(settings).empty()) return 0;
    return node_named(settings, host_names(settings)[std::size_t(node_of(settings, rank))]);
}

namespace {

// `settings` are those of this job, or of the machine.
std::vector<std::string> options_of(const config::Settings& settings, const std::string& here) {
    std::vector<std::string> options;
    for (const config::AnySetting* const it : settings.schema().settings()) {
        if (settings.origin(*it).kind == config::Origin::Kind::default_value ||
            settings.text(*it).empty())
            continue;
        // Decided anew for the number of ranks.
        if (it->key() == config::setting::ranks_per_node.key() ||
            it->key() == config::setting::spares.key())
            continue;
        if (here.empty() && (it->key() == config::setting::dims.key() ||
                             it->key() == config::setting::periodic.key()))
            continue;
        options.push_back("--set");
        options.push_back(fmt::format("{}={}", it->key(), settings.text(*it)));
    }
    if (!here.empty()) options.insert(options.end(), {"--here", here});
    return options;
}

}  // namespace

std::vector<std::string> options_of_hosts(const config::Settings& settings, int node, bool whole) {
    const config::Settings& used = whole ? settings.whole() : settings;
    std::vector<std::string> options = options_of(used, host_of(settings, node));
    const std::size_t hosts = std::max(host_names(used).size(), std::size_t(1));
    options.insert(options.end(), {"-np", fmt::to_string(hosts)});
    return options;
}

RankPlaces place_ranks(const config::Settings& settings, int node, int ranks,
                       const std::vector<std::string>& hosts) {
    const config::Settings& used = settings_with(settings, hosts);
    RankPlaces places{{}, options_of(used, host_of(settings, node))};
    if (host_names(used).empty()) {
        places.nodes.assign(std::size_t(ranks), 0);
        return places;
    }
    const auto place_on = [&](const std::vector<std::string>& some) {
        places.nodes = nodes_of(fitted(used, ranks, some), ranks, settings);
        if (!some.empty())
            places.options.insert(places.options.end(),
                                  {"--host", fmt::format("{}", fmt::join(some, ","))});
        return places;
    };
    try {
        return place_on(hosts);
    } catch (const config::ConfigError&) {
        // Another number of hosts may fit: more ranks on each of fewer.
        const int most = std::min(ranks, int(host_names(used).size()));
        for (int some = most; some > 0 && hosts.empty(); --some)
            if (ranks % some == 0)
                if (const auto box = host_box(used, some); !box.empty()) return place_on(box);
        throw;
    }
}

namespace {

using Names = std::vector<std::string>;

// The hosts of a job and its options for torus-run.
struct Ground {
    config::Settings fitted;
    Names options;
};

Ground fill_hosts(const config::Settings& used, const std::string& here, std::size_t each) {
    Ground ground{used, options_of(used, here)};
    if (host_names(used).empty()) return ground;
    std::vector<int> block(used[config::setting::dims].size(), 1);
    block.back() = int(each);
    ground.fitted.set(config::setting::ranks_per_node, std::move(block));
    return ground;
}

// As torus-run --without fits the machine. Nothing if no cables join the hosts.
std::optional<Ground> fill_some(const config::Settings& machine, const Names& usable,
                                const std::string& here, std::size_t each) {
    Ground ground{machine, options_of(machine, here)};
    ground.fitted.set(config::setting::spares, {}, {});
    ground.fitted.set(config::setting::ranks_per_node, {}, {});
    if (!fit_living(ground.fitted,
                    {int(usable.size()), int(each), usable, nullptr, here, "--without"})
             .empty())
        return std::nullopt;
    Names others;
    for (const std::string& host : host_names(machine))
        if (std::ranges::count(usable, host) == 0) others.push_back(host);
    ground.options.insert(ground.options.end(), {"-ppn", fmt::to_string(each), "--without",
                                                 fmt::format("{}", fmt::join(others, ","))});
    return ground;
}

// Hosts that are not needed may be lost without a report.
std::optional<Ground> leave_out(const config::Settings& machine, const std::string& here,
                                const Names& needed, const std::vector<int>& lost,
                                std::size_t each) {
    Names just_needed, living;
    for (int node = 0; node < int(host_names(machine).size()); ++node) {
        const std::string& host = host_names(machine)[std::size_t(node)];
        const bool is_needed = std::ranges::count(needed, host) != 0;
        if (is_needed) just_needed.push_back(host);
        if (is_needed || std::ranges::count(lost, node) == 0) living.push_back(host);
    }
    if (living.size() == host_names(machine).size()) return std::nullopt;
    if (auto ground = fill_some(machine, just_needed, here, each)) return ground;
    return fill_some(machine, living, here, each);
}

}  // namespace

Seating seat_processes(const config::Settings& settings, int node, const std::vector<int>& nodes,
                       int running, const std::vector<int>& lost) {
    Names needed;
    if (!machine_hosts(settings).empty())
        for (const int it : nodes) needed.push_back(host_of(settings, it));
    std::vector<std::vector<int>> waiting(std::max(machine_hosts(settings).size(), std::size_t(1)));
    for (std::size_t process = nodes.size(); process-- > 0;)
        waiting[std::size_t(nodes[process])].push_back(int(process));
    std::size_t each = 1;
    for (const auto& it : waiting) each = std::max(each, it.size());
    const std::string here = host_of(settings, node);
    std::optional<Ground> part;
    if (!needed.empty() && !lost.empty())
        part = leave_out(settings.whole(), here, needed, lost, each);
    Ground ground =
        part ? std::move(*part) : fill_hosts(settings_with(settings, needed), here, each);
    const std::size_t hosts = std::max(host_names(ground.fitted).size(), std::size_t(1));
    Seating seating{int(each * hosts), std::move(ground.options), {}};
    seating.options.insert(seating.options.end(), {"-np", fmt::to_string(seating.ranks)});
    const std::vector<int> places = host_names(ground.fitted).empty()
                                        ? std::vector<int>(std::size_t(seating.ranks), 0)
                                        : nodes_of(ground.fitted, seating.ranks, settings);
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
        auto& waits = waiting[std::size_t(places[rank])];
        if (rank != 0) seating.table += ',';
        if (waits.empty()) {
            seating.table += '-';
            continue;
        }
        seating.table += fmt::format("{}{}", waits.back() < running ? "" : "+", waits.back());
        waits.pop_back();
    }
    return seating;
}

Subjob::Subjob(const std::string& name, std::vector<std::string> arguments,
               std::vector<std::string> variables, bool silent, const base::Descriptor& input,
               const base::Descriptor& output) {
    const std::string program = torus_run_path();
    if (program.empty())
        throw std::runtime_error(
            "cannot find torus-run, which starts the new processes: expected torus-run in PATH, or "
            "in the installation of this library");
    arguments.insert(arguments.begin(), name);
    std::vector<char*> argv, envp;
    for (std::string& it : arguments) argv.push_back(it.data());
    for (char** it = environ; *it != nullptr; ++it)
        if (is_inherited(*it)) envp.push_back(*it);
    for (std::string& it : variables) envp.push_back(it.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    if (silent) errors_ = base::Descriptor(memfd_create("torus-run", MFD_CLOEXEC));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (input)
        posix_spawn_file_actions_adddup2(&actions, input.get(), 0);
    else
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (output)
        posix_spawn_file_actions_adddup2(&actions, output.get(), 1);
    else if (silent)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (silent) posix_spawn_file_actions_adddup2(&actions, errors_.get(), 2);
    // Files and sockets that the program closes must not stay open here.
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    // torus-run blocks and ignores no signal because the program does.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    // Nor is it bound because this rank is: its ranks may use all processors of the job.
    const config::Affinity own(config::allowed_cpus()), whole(processors_of_job());
    whole.apply();
    const int error =
        posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), envp.data());
    own.apply();
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        throw std::runtime_error(fmt::format("cannot start {}: {}", program, std::strerror(error)));
}

Subjob::~Subjob() {
    if (pid_ < 0) return;
    if (!ended()) stop();
    waitpid(pid_, nullptr, WNOHANG);
}

// Leaves its end to the launcher, should this object let it go. The program may have reaped the
// child by a wait for any of its children.
std::optional<int> Subjob::look(int options) {
    if (code_) return code_;
    siginfo_t info{};
    if (waitid(P_PID, id_t(pid_), &info, WEXITED | WNOWAIT | options) != 0) {
        if (errno != EINTR) code_ = 0;
    } else if (info.si_pid == pid_) {
        code_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    }
    return code_;
}

std::optional<int> Subjob::ended() {
    return look(WNOHANG);
}

int Subjob::wait() {
    while (!look(0)) continue;
    return *code_;
}

// A second signal makes torus-run kill what the first one did not end. Without torus-run its
// processes end by themselves.
void Subjob::stop() {
    constexpr auto patience = std::chrono::seconds(2);
    constexpr auto rest = std::chrono::milliseconds(2);
    for (int turn = 0; !ended(); ++turn)
        if (turn % (patience / rest) == 0)
            kill(pid_, turn / (patience / rest) < 3 ? SIGTERM : SIGKILL);
        else
            std::this_thread::sleep_for(rest);
}

std::string Subjob::errors() const {
    if (!errors_) return {};
    std::string text(4096, '\0');
    const ssize_t n = pread(errors_.get(), text.data(), text.size(), 0);
    text.resize(n > 0 ? std::size_t(n) : 0);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

}  // namespace torusmp::job
