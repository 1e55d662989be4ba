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

#include "config/fit.h"
#include "config/geometry.h"
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
    config::Demand demand;
    demand.ranks = ranks;
    demand.ranks_option = fmt::format("maxprocs {}", ranks);
    demand.hosts = hosts;
    demand.hosts_option = fmt::format("host {}", fmt::join(hosts, ","));
    config::fit(fitted, demand);
    rank_torus(fitted, ranks);
    return fitted;
}

// By rank, among all hosts of the first job.
std::vector<int> nodes_of(const config::Settings& fitted, int ranks,
                          const std::vector<std::string>& all) {
    std::vector<int> nodes;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::string& host = host_names(fitted)[std::size_t(node_of(fitted, rank))];
        nodes.push_back(int(std::find(all.begin(), all.end(), host) - all.begin()));
    }
    return nodes;
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

// In a build tree all programs are in one folder.
std::string stand_in_path() {
    const fs::path folder = find_folder(), name = "torus-stand-in";
    if (folder.empty() || is_program(folder / name)) return (folder / name).string();
    return (folder / TORUSMP_HELPERS_FROM_PROGRAMS / name).lexically_normal().string();
}

std::vector<std::string> options_of_further_job(const config::Settings& settings, int rank) {
    std::vector<std::string> options;
    const bool hosts = !host_names(settings).empty();
    for (const config::AnySetting* const it : settings.schema().settings()) {
        if (settings.origin(*it).kind == config::Origin::Kind::default_value ||
            settings.text(*it).empty())
            continue;
        // Decided anew for the number of ranks; and the hosts are those that this job has.
        if (it->key() == config::setting::ranks_per_node.key() ||
            it->key() == config::setting::spares.key())
            continue;
        if (!hosts && (it->key() == config::setting::dims.key() ||
                       it->key() == config::setting::periodic.key()))
            continue;
        options.push_back("--set");
        options.push_back(fmt::format("{}={}", it->key(), settings.text(*it)));
    }
    if (hosts) {
        options.push_back("--here");
        options.push_back(host_names(settings)[std::size_t(node_of(settings, rank))]);
    }
    return options;
}

RankPlaces place_ranks(const config::Settings& settings, int ranks,
                       const std::vector<std::string>& hosts) {
    const std::vector<std::string>& all = host_names(settings);
    if (all.empty()) return {std::vector<int>(std::size_t(ranks), 0), hosts};
    try {
        return {nodes_of(fitted(settings, ranks, hosts), ranks, all), hosts};
    } catch (const config::ConfigError&) {
        // Another number of hosts may fit: more ranks on each of fewer.
        for (int some = std::min(ranks, int(all.size())); some > 0 && hosts.empty(); --some)
            if (ranks % some == 0)
                if (const auto box = host_box(settings, some); !box.empty())
                    return {nodes_of(fitted(settings, ranks, box), ranks, all), box};
        throw;
    }
}

Seating seat_processes(const config::Settings& settings, const std::vector<int>& nodes,
                       int running) {
    Seating seating;
    const int hosts = std::max(int(host_names(settings).size()), 1);
    std::vector<std::vector<int>> waiting(static_cast<std::size_t>(hosts));
    for (std::size_t process = nodes.size(); process-- > 0;)
        waiting[std::size_t(nodes[process])].push_back(int(process));
    std::size_t each = 1;
    for (const auto& it : waiting) each = std::max(each, it.size());
    seating.ranks = int(each) * hosts;
    seating.options = {"-np", fmt::to_string(seating.ranks)};
    config::Settings full = settings;
    if (!host_names(settings).empty()) {
        std::vector<int> block(settings[config::setting::dims].size(), 1);
        block.back() = int(each);
        full.set(config::setting::ranks_per_node, std::move(block));
    }
    for (int rank = 0; rank < seating.ranks; ++rank) {
        auto& here = waiting[std::size_t(hosts == 1 ? 0 : node_of(full, rank))];
        if (rank != 0) seating.table += ',';
        if (here.empty()) {
            seating.table += '-';
            continue;
        }
        seating.table += fmt::format("{}{}", here.back() < running ? "" : "+", here.back());
        here.pop_back();
    }
    return seating;
}

Subjob::Subjob(const std::string& name, std::vector<std::string> arguments,
               std::vector<std::string> variables, bool silent, const base::Descriptor& talk) {
    const std::string program = torus_run_path();
    if (program.empty())
        throw std::runtime_error(
            "cannot find torus-run, which starts further processes: expected it in PATH, or in the "
            "installation of this library");
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
    if (talk) {
        posix_spawn_file_actions_adddup2(&actions, talk.get(), 0);
        posix_spawn_file_actions_adddup2(&actions, talk.get(), 1);
    } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (silent) posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    }
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
    const int error =
        posix_spawn(&pid_, program.c_str(), &actions, &attributes, argv.data(), envp.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
        throw std::runtime_error(fmt::format("cannot start {}: {}", program, std::strerror(error)));
}

Subjob::~Subjob() {
    if (!ended()) stop();
}

// The program may have reaped the child by a wait for any of its children.
std::optional<int> Subjob::reap(int options) {
    if (code_) return code_;
    int status = 0;
    const pid_t reaped = waitpid(pid_, &status, options);
    if (reaped == pid_)
        code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    else if (reaped < 0 && errno != EINTR)
        code_ = 0;
    return code_;
}

std::optional<int> Subjob::ended() {
    return reap(WNOHANG);
}

int Subjob::wait() {
    while (!reap(0)) continue;
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
