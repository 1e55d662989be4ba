// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/rank_start.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string_view>

#include "launch/environment.h"
#include "programs/torus_run/streams/messages.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {
namespace {

unsigned long long inode_of(int fd) {
    struct stat info {};
    fstat(fd, &info);
    return info.st_ino;
}

}  // namespace

std::string own_path() {
    std::error_code error;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? "torus-run" : path.string();
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    list.reserve(strings.size() + 1);
    for (std::string& string : strings) list.push_back(string.data());
    list.push_back(nullptr);
    return list;
}

void inherit(std::vector<std::string>& environment, const std::vector<std::string>& job) {
    const auto name_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
    const std::vector<std::string> own = environment;
    for (const std::string& variable : job)
        if (std::none_of(own.begin(), own.end(), [&](const std::string& other) {
                return name_of(other) == name_of(variable);
            }))
            environment.push_back(variable);
}

void add_identity(std::vector<std::string>& environment, const HostJob& job, int rank,
                  std::size_t local_rank, const Inherited& inherited) {
    environment.push_back(fmt::format("{}={}:{}:{}:{}:{}", launch::env_bootstrap, inherited.control,
                                      inode_of(inherited.control), inherited.notices,
                                      inode_of(inherited.notices), inherited.lifeline));
    environment.push_back(fmt::format("{}={}", launch::env_rank, rank));
    environment.push_back(fmt::format("{}={}", launch::env_size, job.size));
    environment.push_back(fmt::format("{}={}", launch::env_local_rank, local_rank));
    environment.push_back(fmt::format("{}={}", launch::env_program, job.program_of(rank)));
    environment.push_back(fmt::format("{}={}", launch::env_launcher, getpid()));
    environment.push_back(fmt::format("{}={}", launch::env_torus_run, own_path()));
    // As torchrun and other launchers of learning name them; the user's own values win.
    inherit(environment, {fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", job.size),
                          fmt::format("LOCAL_RANK={}", local_rank),
                          fmt::format("LOCAL_WORLD_SIZE={}", job.ranks.size())});
}

namespace {

// Executes the program once gdb is attached, which stops at the program's start. $1: gdb's command.
constexpr const char* under_gdb = R"(gdb="gdb -q -p $$ -ex 'set breakpoint pending on' \
-ex 'catch exec' -ex continue -ex 'delete 1' -ex 'tbreak main' -ex continue"
if [ -n "$TMUX" ]; then
    tmux new-window -d -n "rank $TORUSMP_RANK" "$gdb" || exit 1
else
    xterm -T "rank $TORUSMP_RANK" -e sh -c "$gdb" &
fi
while :; do
    while read -r key value; do
        if [ "$key" = TracerPid: ] && [ "$value" != 0 ]; then exec "$@"; fi
    done < /proc/$$/status
    sleep 0.1
done)";

constexpr const char* in_xterm = R"(exec xterm -hold -T "rank $TORUSMP_RANK" -e "$@")";

}  // namespace

Program in_window(const Program& program, Window window) {
    Program wrapped = program;
    wrapped.path = "/bin/sh";
    wrapped.arguments = {"sh", "-c", window == Window::gdb ? under_gdb : in_xterm, "sh",
                         program.path};
    wrapped.arguments.insert(wrapped.arguments.end(), program.arguments.begin() + 1,
                             program.arguments.end());
    return wrapped;
}

SharedBytes welcome(const HostJob& job, int rank, std::uint32_t sequence) {
    launch::Welcome welcome{.version = launch::protocol_version,
                            .rank = rank,
                            .size = job.size,
                            .local_count = std::uint32_t(job.ranks.size()),
                            .secret = {},
                            .keep_going = job.keep_going,
                            .dead_count = std::uint32_t(job.dead_cables.size()),
                            .sequence = sequence};
    std::copy(job.secret.begin(), job.secret.end(), std::begin(welcome.secret));
    Packer packer;
    packer.append(std::as_bytes(std::span(&welcome, 1)));
    for (const int local : job.ranks) packer.add(std::int32_t(local));
    for (const routing::Link& cable : job.dead_cables)
        packer.add(std::int32_t(cable.rank)).add(std::int32_t(cable.dimension));
    return share(packer.take());
}

}  // namespace torusmp::torus_run
