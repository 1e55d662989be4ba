// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/children.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "config/geometry.h"
#include "launch/environment.h"
#include "launch/settings.h"
#include "mpi11/environment/info.h"
#include "mpi11/error/check.h"

namespace torusmp::mpi {
namespace {

using Strings = std::vector<std::string>;
// Exit code of torus-run.
constexpr int nothing_was_started = 2;

using Jobs = std::vector<std::unique_ptr<job::Subjob>>;

Strings split(std::string_view text, std::string_view separators) {
    Strings parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        if (end > 0) parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

bool is_program(const std::string& path) {
    return access(path.c_str(), X_OK) == 0;
}

// The program's path if it is in one of the folders; otherwise the name alone.
std::string find_in(const Strings& folders, const std::string& program) {
    for (const std::string& folder : folders)
        if (is_program(folder + "/" + program)) return folder + "/" + program;
    return program;
}

// Known only for this host; torus-run looks on the others.
void check_program(const Command& command) {
    if (!command.folder.empty() && access(command.folder.c_str(), X_OK) != 0)
        fail(MPI_ERR_SPAWN, "info key wdir: the folder {} does not exist", command.folder);
    const bool path = command.program.find('/') != std::string::npos;
    const char* const folders = std::getenv("PATH");
    const std::string full = path && command.program.front() != '/' && !command.folder.empty()
                                 ? command.folder + "/" + command.program
                                 : command.program;
    if (path ? is_program(full)
             : find_in(split(folders == nullptr ? "" : folders, ":"), full) != full)
        return;
    const std::string here = command.folder.empty() ? "." : command.folder;
    const bool beside = !path && is_program(here + "/" + command.program);
    fail(MPI_ERR_SPAWN, "cannot start \"{0}\": found no such program {1}{2}", command.program,
         path ? "there" : "in PATH",
         beside ? fmt::format(" (\"./{}\" exists)", command.program) : std::string());
}

void check_hosts(const Strings& hosts, const Strings& all) {
    char self[256] = "localhost";
    gethostname(self, sizeof self - 1);
    for (const std::string& host : hosts) {
        const bool known = all.empty() ? host == "localhost" || host == self
                                       : std::find(all.begin(), all.end(), host) != all.end();
        if (!known)
            fail(MPI_ERR_SPAWN,
                 "info key host: \"{}\" is not a host of this job's machine (expected {})", host,
                 all.empty() ? std::string(self) : fmt::format("{}", fmt::join(all, ", ")));
    }
}

// Beyond the universe only if the user has set its size.
void check_number(int processes) {
    constexpr int most = 16384;  // the table of their places is an argument of a program
    if (processes < 1) fail(MPI_ERR_SPAWN, "found 0 processes in total, expected 1 or more");
    if (processes > most)
        fail(MPI_ERR_SPAWN, "found {} processes in total, expected {} or fewer", processes, most);
    const int universe = library().process->settings()[launch::setting::universe];
    const int running = library().process->size() + living_children();
    if (universe != 0 && processes > universe - running)
        fail(MPI_ERR_SPAWN,
             "cannot start {} processes in addition to the {} that run: launch.universe allows {}",
             processes, running, universe);
}

// The options of torus-run for one program.
void add_program(Strings& to, const Command& command) {
    to.insert(to.end(),
              {"-np", fmt::to_string(command.processes), "--export", launch::env_parents});
    if (!command.folder.empty()) to.insert(to.end(), {"--wdir", command.folder});
    to.push_back("--");
    to.push_back(command.program);
    to.insert(to.end(), command.arguments.begin(), command.arguments.end());
}

// `arguments` are options of torus-run. `meeting` is the value of env_parents.
std::unique_ptr<job::Subjob> start_children(const std::vector<Command>& commands, Strings arguments,
                                            const std::string& meeting, Deaths deaths,
                                            const base::Descriptor& input = {}) {
    bool first = true;
    for (const Command& command : commands) {
        if (command.processes == 0) continue;
        if (!std::exchange(first, false)) arguments.emplace_back(":");
        add_program(arguments, command);
    }
    auto children = std::make_unique<job::Subjob>(
        commands.size() > 1 ? "mpirun" : "torus-run", std::move(arguments),
        std::vector{fmt::format("{}={}", launch::env_parents, meeting)}, false, input);
    children->hand_over(*library().process, deaths == Deaths::are_mended);
    return children;
}

std::string meeting_text(const MeetingPlace& place) {
    return fmt::format("{}:{}:{}", place.name, place.first_side, place.processes);
}

// The first of some jobs that has ended; null if none has.
job::Subjob* find_ended(const Jobs& jobs) {
    const auto found = std::ranges::find_if(jobs, [](const auto& it) { return bool(it->ended()); });
    return found == jobs.end() ? nullptr : found->get();
}

// The other side of a meeting is the processes of these jobs.
void watch_children(Arrangement& arranged, const std::shared_ptr<Jobs>& children,
                    const std::string& program) {
    job::Subjob* const meeting = arranged.meeting.get();
    arranged.given_up = [children, meeting] {
        return find_ended(*children) != nullptr || meeting->ended().has_value();
    };
    arranged.why = [children, program] {
        job::Subjob* const ended = find_ended(*children);
        if (ended == nullptr) return std::string("the processes have started, but could not join");
        const int code = *ended->ended();
        return fmt::format("\"{}\" ended with code {} before its processes called MPI_Init{}",
                           program, code,
                           code == 0 ? ": is it an MPI program built with torusmp?"
                                     : "; see the message of torus-run or of the program");
    };
}

}  // namespace

Command read_command(const char* program, char** arguments, int processes, MPI_Info info) {
    check_output("command", program);
    if (processes < 0) fail(MPI_ERR_ARG, "found maxprocs {}, expected 0 or more", processes);
    Command command{
        .program = program, .arguments = {}, .processes = processes, .folder = {}, .hosts = {}};
    if (command.program.empty()) fail(MPI_ERR_SPAWN, "the command is empty");
    for (; arguments != MPI_ARGV_NULL && *arguments != nullptr; ++arguments)
        command.arguments.emplace_back(*arguments);
    for (const auto& [key, value] : entries_of(info)) {
        if (key == "wdir") command.folder = value;
        if (key == "host" || key == "hosts") command.hosts = split(value, ", ");
        if (key == "path" && command.program.find('/') == std::string::npos)
            command.program = find_in(split(value, ":"), command.program);
    }
    return command;
}

Arrangement arrange_children(const std::vector<Command>& commands, const job::Process& beside,
                             std::vector<int> nodes) {
    int processes = 0;
    Strings hosts;
    for (const Command& command : commands) {
        processes += command.processes;
        if (commands.size() > 1 && std::find(command.arguments.begin(), command.arguments.end(),
                                             ":") != command.arguments.end())
            fail(MPI_ERR_SPAWN, "the arguments of \"{}\" contain \":\", which separates programs",
                 command.program);
        if (!command.hosts.empty() && !hosts.empty() && hosts != command.hosts)
            fail(MPI_ERR_SPAWN,
                 "found different lists of the info key host: expected one for all "
                 "programs");
        if (!command.hosts.empty()) hosts = command.hosts;
    }
    check_number(processes);
    check_hosts(hosts, job::machine_hosts(beside.settings()));
    job::RankPlaces placed;
    try {
        placed = job::place_ranks(beside.settings(), own_node(beside), processes, hosts);
    } catch (const config::ConfigError& error) {
        fail(MPI_ERR_SPAWN, "{}", error.what());
    }
    if (std::ranges::count(placed.nodes, own_node(beside)) != 0)
        for (const Command& command : commands)
            if (command.processes > 0) check_program(command);
    Arrangement arranged;
    const int parents = int(nodes.size());
    arranged.place = {
        .name = new_meeting_name(), .first_side = parents, .processes = parents + processes};
    const auto children = std::make_shared<Jobs>();
    children->push_back(start_children(commands, std::move(placed.options),
                                       meeting_text(arranged.place), Deaths::end_the_job));
    nodes.insert(nodes.end(), placed.nodes.begin(), placed.nodes.end());
    arranged.meeting = start_meeting(arranged.place.name, beside, nodes, parents);
    watch_children(arranged, children, commands.front().program);
    arranged.succeeded = [children, processes] {
        keep_children(std::move(children->front()), processes, Deaths::end_the_job);
    };
    return arranged;
}

Arrangement arrange_replacements(const Command& command, const job::Process& beside,
                                 std::vector<int> nodes,
                                 const std::vector<Replacement>& replacements,
                                 std::vector<int>& refused) {
    const Strings& hosts = job::machine_hosts(beside.settings());
    Arrangement arranged;
    const int survivors = int(nodes.size());
    arranged.place = {.name = new_meeting_name(),
                      .first_side = survivors,
                      .processes = survivors + int(replacements.size())};
    std::vector<int> ranks;
    for (const Replacement& it : replacements) {
        ranks.push_back(it.rank);
        nodes.push_back(it.node);
        if (it.node == own_node(beside)) check_program(command);
    }
    Command one = command;
    one.processes = 1;
    const auto children = std::make_shared<Jobs>();
    // A new process sees by the end of its standard input that this one has died before it joined.
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        fail(MPI_ERR_SPAWN, "cannot make a pipe: {}", std::strerror(errno));
    const base::Descriptor input(ends[0]);
    const auto lifeline = std::make_shared<const base::Descriptor>(ends[1]);
    for (std::size_t i = 0; i < replacements.size(); ++i) {
        Strings host;
        if (!hosts.empty()) host.push_back(job::host_of(beside.settings(), replacements[i].node));
        Strings options;
        try {
            options = job::place_ranks(beside.settings(), own_node(beside), 1, host).options;
        } catch (const config::ConfigError& error) {
            fail(MPI_ERR_SPAWN, "{}", error.what());
        }
        // Errors in a process whose own job ends at a death would be of another class.
        options.emplace_back("--keep-going");
        children->push_back(start_children(
            {one}, std::move(options),
            fmt::format("{}:{}:{}", meeting_text(arranged.place), i, fmt::join(ranks, ",")),
            Deaths::are_mended, input));
    }
    arranged.meeting = start_meeting(arranged.place.name, beside, nodes, survivors, refused);
    watch_children(arranged, children, command.program);
    nodes.resize(std::size_t(survivors));
    arranged.why = [children, replacements, nodes, &refused, why = std::move(arranged.why)] {
        // The meeting fails at about the same time for the same reason.
        constexpr auto patience = std::chrono::seconds(5);
        const auto end = std::chrono::steady_clock::now() + patience;
        wait_idly([&] {
            return find_ended(*children) != nullptr || std::chrono::steady_clock::now() > end;
        });
        // If all have started, the cables of a new host may be the reason.
        const bool all_started = find_ended(*children) == nullptr;
        for (std::size_t i = 0; i < children->size(); ++i) {
            const int node = replacements[i].node;
            if (all_started ? std::ranges::count(nodes, node) == 0
                            : (*children)[i]->ended() == nothing_was_started)
                refused.push_back(node);
        }
        return why();
    };
    arranged.succeeded = [children, lifeline] {
        for (auto& it : *children) keep_children(std::move(it), 1, Deaths::are_mended, lifeline);
    };
    return arranged;
}

}  // namespace torusmp::mpi
