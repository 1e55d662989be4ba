// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/prepare.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "config/binding.h"
#include "config/load.h"
#include "config/network.h"
#include "config/options.h"
#include "core/transport/machine.h"
#include "job/settings.h"
#include "programs/torus_run/daemon/limits.h"
#include "programs/torus_run/daemon/local_ranks.h"
#include "programs/torus_run/daemon/rank_start.h"
#include "programs/torus_run/front/meeting.h"
#include "programs/torus_run/front/program.h"

namespace torusmp::torus_run {
namespace {

std::string_view variable_of(std::string_view variable) {
    return variable.substr(0, variable.find('='));
}

std::string own_name() {
    char name[256] = "?";
    gethostname(name, sizeof name - 1);
    return name;
}

// Adopts the environment of the user's shell, except for variables of this host and login.
void take_environment(std::vector<std::string>& environment) {
    std::erase_if(environment, [](const std::string& variable) {
        return belongs_to_a_host(variable_of(variable));
    });
    for (char** entry = environ; *entry; ++entry)
        if (belongs_to_a_host(variable_of(*entry)) && variable_of(*entry) != "PWD")
            environment.emplace_back(*entry);
}

const char* value_of(const std::vector<std::string>& environment, std::string_view name) {
    for (const std::string& variable : environment)
        if (variable_of(variable) == name) return variable.c_str() + name.size() + 1;
    return nullptr;
}

void enter_working_directory(const std::string& directory, std::vector<std::string>& problems) {
    if (chdir(directory.c_str()) != 0)
        problems.push_back(fmt::format("cannot enter the working directory '{}': {}", directory,
                                       std::strerror(errno)));
}

// For ranks that meet ranks of other hosts; see meeting.h.
void add_meeting_devices(HostJob& job, std::vector<std::string>& problems) {
    if (!has_planned_address()) return;
    try {
        const config::Settings settings =
            config::load_for_rank(job::schema(), {}, job.environment);
        inherit(job.environment, meeting_devices(config::link_devices(settings, job.node)));
    } catch (const std::exception& error) {
        problems.push_back(fmt::format("cannot read the settings of the job: {}", error.what()));
    }
}

void describe(const HostOrder& order, HostFacts& facts) {
    facts.name = own_name();
    facts.machine = config::this_machine();
    try {
        facts.description =
            config::format_facts(transport::this_host(order.geometry, order.routes));
    } catch (const std::exception& error) {
        facts.problems.push_back(fmt::format("cannot list its network devices: {}", error.what()));
    }
}

std::vector<config::CpuList> bind_ranks(const HostJob& job, std::vector<std::string>& problems) {
    try {
        return config::local_binding(int(job.ranks.size()), job.bind, job.cores_each);
    } catch (const std::exception& error) {
        problems.push_back(fmt::format("cannot bind ranks to processors: {}", error.what()));
        return std::vector<config::CpuList>(job.ranks.size());
    }
}

void check_limits(const HostJob& job, std::vector<std::string>& problems) {
    const int ranks = int(job.ranks.size());
    for (std::string& clause :
         exceeded(limits_for(ranks, LocalRanks::descriptors_each(job)), ranks))
        problems.push_back(std::move(clause));
}

// Finds only programs with ranks on this host.
void find_programs(HostJob& job, std::vector<std::string>& problems) {
    std::set<int> here;
    for (const int rank : job.ranks) here.insert(job.program_of(rank));
    for (const int number : here) {
        Program& program = job.programs[std::size_t(number)];
        const char* path = value_of(program.environment, "PATH");
        if (!path) path = value_of(job.environment, "PATH");
        try {
            program.path = find_program(program.path, path, program.folder);
        } catch (const config::UsageError& error) {
            problems.emplace_back(error.what());
        }
    }
}

}  // namespace

void unbind(config::Bind bind, std::vector<config::CpuList>& cpus) {
    if (bind == config::Bind::automatic) cpus.assign(cpus.size(), {});
}

bool belongs_to_a_host(std::string_view variable) {
    for (const std::string_view prefix : {"SSH_", "XDG_", "DBUS_", "SYSTEMD_"})
        if (variable.starts_with(prefix)) return true;
    for (const std::string_view name :
         {"HOME", "USER", "LOGNAME", "SHELL", "MAIL", "HOST", "HOSTNAME", "DISPLAY", "XAUTHORITY",
          "WAYLAND_DISPLAY", "PWD", "OLDPWD", "SHLVL", "_", "TTY", "KRB5CCNAME", "INVOCATION_ID",
          "JOURNAL_STREAM", "WINDOWID"})
        if (variable == name) return true;
    return false;
}

Prepared prepare_remote_host(HostOrder& order) {
    Prepared prepared;
    std::vector<std::string>& problems = prepared.facts.problems;
    enter_working_directory(order.working_directory, problems);
    umask(mode_t(order.file_mode_mask));
    take_environment(order.job.environment);
    order.job.environment.push_back("PWD=" + order.working_directory);
    find_programs(order.job, problems);
    check_limits(order.job, problems);
    prepared.cpus = bind_ranks(order.job, problems);
    add_meeting_devices(order.job, problems);
    describe(order, prepared.facts);
    return prepared;
}

Prepared prepare_own_host(HostOrder& order) {
    Prepared prepared;
    check_limits(order.job, prepared.facts.problems);
    prepared.cpus = bind_ranks(order.job, prepared.facts.problems);
    if (order.job.size > int(order.job.ranks.size())) {
        add_meeting_devices(order.job, prepared.facts.problems);
        describe(order, prepared.facts);
    }
    return prepared;
}

}  // namespace torusmp::torus_run
