// SPDX-License-Identifier: BSD-3-Clause
// Starting processes (MPI-5.0, section 11.8): a torus-run of their own starts them, as a job of
// their own, which then joins the members of the communicator.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/geometry.h"
#include "launch/environment.h"
#include "launch/settings.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/spawn/joining_call.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

using Strings = std::vector<std::string>;

// One program, as the root describes it.
struct Command {
    std::string program;
    Strings arguments;
    int processes = 0;
    std::string folder;  // info key wdir; empty for this process's
    Strings hosts;       // info key host
};

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
        fail(MPI_ERR_SPAWN, "info key wdir: found no folder {}", command.folder);
    const bool path = command.program.find('/') != std::string::npos;
    const char* const folders = std::getenv("PATH");
    const std::string full = path && command.program.front() != '/' && !command.folder.empty()
                                 ? command.folder + "/" + command.program
                                 : command.program;
    if (path ? is_program(full)
             : find_in(split(folders == nullptr ? "" : folders, ":"), full) != full)
        return;
    fail(MPI_ERR_SPAWN, "cannot start \"{}\": found no such program {}", command.program,
         path ? "there" : "in PATH");
}

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

void check_hosts(const Strings& hosts, const Strings& all) {
    char self[256] = "localhost";
    gethostname(self, sizeof self - 1);
    for (const std::string& host : hosts) {
        const bool known = all.empty() ? host == "localhost" || host == self
                                       : std::find(all.begin(), all.end(), host) != all.end();
        if (!known)
            fail(MPI_ERR_SPAWN,
                 "info key host: \"{}\" is not a host of this job's machine (expected {})",
                 host, all.empty() ? std::string(self) : fmt::format("{}", fmt::join(all, ", ")));
    }
}

// Beyond the universe only if the user has set its size.
void check_number(int processes) {
    constexpr int most = 16384;  // the table of their places is an argument of a program
    if (processes < 1) fail(MPI_ERR_SPAWN, "found 0 processes in all, expected 1 or more");
    if (processes > most)
        fail(MPI_ERR_SPAWN, "found {} processes in all, expected {} or fewer", processes, most);
    const int universe = library().process->settings()[launch::setting::universe];
    const int running = library().process->size() + living_children();
    if (universe != 0 && processes > universe - running)
        fail(MPI_ERR_SPAWN,
             "cannot start {} processes beside {} that run: launch.universe allows {} in all",
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

std::unique_ptr<job::Subjob> start_children(const std::vector<Command>& commands,
                                            Strings arguments, const MeetingPlace& place) {
    bool first = true;
    for (const Command& command : commands) {
        if (command.processes == 0) continue;
        if (!std::exchange(first, false)) arguments.emplace_back(":");
        add_program(arguments, command);
    }
    return std::make_unique<job::Subjob>(
        commands.size() > 1 ? "mpirun" : "torus-run", std::move(arguments),
        std::vector{fmt::format("{}={}:{}:{}", launch::env_parents, place.name, place.first_side,
                                place.processes)},
        false);
}

// beside: the job in which the members of the communicator are.
Arrangement arrange_children(const std::vector<Command>& commands, const job::Process& beside,
                             std::vector<int> nodes) {
    int processes = 0;
    Strings hosts;
    for (const Command& command : commands) {
        processes += command.processes;
        if (commands.size() > 1 && std::find(command.arguments.begin(), command.arguments.end(),
                                             ":") != command.arguments.end())
            fail(MPI_ERR_SPAWN,
                 "found \":\" among the arguments of \"{}\", which separates programs",
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
    arranged.place = {.name = new_meeting_name(),
                      .first_side = parents,
                      .processes = parents + processes};
    const auto children = std::make_shared<std::unique_ptr<job::Subjob>>(
        start_children(commands, std::move(placed.options), arranged.place));
    nodes.insert(nodes.end(), placed.nodes.begin(), placed.nodes.end());
    arranged.meeting = start_meeting(arranged.place.name, beside, nodes, parents);
    job::Subjob* const meeting = arranged.meeting.get();
    arranged.given_up = [children, meeting] {
        return (*children)->ended().has_value() || meeting->ended().has_value();
    };
    arranged.why = [children, program = commands.front().program] {
        if (const auto code = (*children)->ended())
            return fmt::format("\"{}\" ended with code {} before its processes called MPI_Init{}",
                               program, *code,
                               *code == 0 ? ": is it an MPI program of torusmp?"
                                          : "; torus-run or the program has said why");
        return std::string("the processes have started, but could not join");
    };
    arranged.succeeded = [children, processes] {
        keep_children(std::move(*children), processes);
    };
    return arranged;
}

int sum_of(std::span<const int> numbers) {
    int sum = 0;
    for (const int number : numbers)
        if (__builtin_add_overflow(sum, std::max(number, 0), &sum))
            fail(MPI_ERR_ARG, "the sum of array_of_maxprocs is above the range of int");
    return sum;
}

// On the root: read(processes) returns the commands; it sets the number of all processes first,
// which all members need for the error codes.
template <class Read>
int start_processes(const char* call, MPI_Comm from, int root, MPI_Comm* intercomm, int* errcodes,
                    Read&& read) {
    return api_for_new(call, from, "intercomm", intercomm, [&](Communicator& comm) -> MPI_Comm {
        check_intra(comm);
        check_root(comm, root);
        int processes = 0;
        const auto set_codes = [&](int code) {
            if (errcodes != MPI_ERRCODES_IGNORE) std::fill_n(errcodes, processes, code);
        };
        try {
            Communicator& made = join_through(
                comm, root, call, MPI_ERR_SPAWN,
                [&](const job::Process& job, std::vector<int> nodes) {
                    const std::vector<Command> commands = read(processes);
                    return arrange_children(commands, job, std::move(nodes));
                },
                &processes);
            set_codes(MPI_SUCCESS);
            return handle_of(made);
        } catch (const Failure& failure) {
            set_codes(failure.code());
            throw;
        }
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_get_parent = PMPI_Comm_get_parent
int PMPI_Comm_get_parent(MPI_Comm* parent) {
    return api("MPI_Comm_get_parent", [&] {
        check_output("parent", parent);
        *parent = handle_or_null(library().parent);
    });
}

#pragma weak MPI_Comm_spawn = PMPI_Comm_spawn
int PMPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                    MPI_Comm comm, MPI_Comm* intercomm, int array_of_errcodes[]) {
    return start_processes("MPI_Comm_spawn", comm, root, intercomm, array_of_errcodes,
                           [&](int& processes) {
                               processes = std::max(maxprocs, 0);
                               return std::vector{read_command(command, argv, maxprocs, info)};
                           });
}

#pragma weak MPI_Comm_spawn_multiple = PMPI_Comm_spawn_multiple
int PMPI_Comm_spawn_multiple(int count, char* array_of_commands[], char** array_of_argv[],
                             const int array_of_maxprocs[], const MPI_Info array_of_info[],
                             int root, MPI_Comm comm, MPI_Comm* intercomm,
                             int array_of_errcodes[]) {
    return start_processes(
        "MPI_Comm_spawn_multiple", comm, root, intercomm, array_of_errcodes, [&](int& processes) {
            if (count < 1) fail(MPI_ERR_ARG, "found count {}, expected 1 or more", count);
            check_output("array_of_commands", array_of_commands);
            check_output("array_of_maxprocs", array_of_maxprocs);
            check_output("array_of_info", array_of_info);
            processes = sum_of({array_of_maxprocs, std::size_t(count)});
            std::vector<Command> commands;
            for (int i = 0; i < count; ++i)
                commands.push_back(
                    read_command(array_of_commands[i],
                                 array_of_argv == MPI_ARGVS_NULL ? MPI_ARGV_NULL : array_of_argv[i],
                                 array_of_maxprocs[i], array_of_info[i]));
            return commands;
        });
}
}
