// SPDX-License-Identifier: BSD-3-Clause
// A cluster of fictitious hosts: the agent is a script that starts the daemon on this host, in
// another folder and with another HOME, and some hosts have faults. Lines "a > b" of the file "cut"
// mean that a does not reach b.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "folder.h"
#include "process.h"
#include "programs.h"

namespace torusmp::torus_run::test {

// Long enough for the slowest machine to answer in, short enough to be waited for.
inline constexpr const char* short_timeout = "transport.timeout=2s";

class Cluster {
  public:
    // `dims`: as in the geometry file; `hosts`: their names.
    explicit Cluster(const std::string& dims, const Words& hosts, const std::string& more = {}) {
        folder_.script(
            "agent",
            "host=$1; shift\n"
            "export FAKE_HOST=$host HOME=/home/of/$host; cd /\n"
            "echo \"$FAKE_FROM > $host\" >> " +
                folder_.file("reached") +
                "\n"
                "grep -qxF \"$FAKE_FROM > $host\" " +
                folder_.file("cut") +
                " 2> /dev/null && { echo 'connect to host port 22: No route to host' >&2; exit "
                "255; "
                "}\n"
                "export FAKE_FROM=$host\n"
                "case $host in\n"
                "  noisy*) echo 'Welcome!'; echo 'Use of this machine is watched.' >&2;;\n"
                "  down*) echo 'connect to host port 22: No route to host' >&2; exit 255;;\n"
                "  bare*) exec /no/such/folder/torus-run \"$@\";;\n"
                "  old*) printf '\\0torus-daemon 0.0.1 (protocol 0.1)\\n'; exec cat;;\n"
                "  talks*) while :; do echo I am no daemon, but I talk a lot; done;;\n"
                "  other*) exec 9< " +
                folder_.file("other") +
                ";;\n"
                "  none*) exec 9<&-;;\n"
                "  dies*) printf '\\0torus-kee'; exit 3;;\n"
                "esac\n"
                "exec \"$@\"\n");
        std::string list;
        for (const std::string& host : hosts)
            list += fmt::format("{}  \"{}\"", list.empty() ? "" : ",\n", host);
        folder_.write(
            "geometry.toml",
            fmt::format("[torus]\ndims = {}\n{}\n[nodes]\nhosts = [\n{}\n]\n", dims, more, list));
    }

    // torus-run [options] command...
    Words start(const Words& command, const Words& options = {}) const {
        Words words{torus_run, "--config", folder_.file("geometry.toml")};
        if (std::find(options.begin(), options.end(), "--agent") == options.end())
            words.insert(words.end(), {"--agent", folder_.file("agent")});
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), command.begin(), command.end());
        return words;
    }
    Words job(Words steps, const Words& options = {}) const {
        steps.insert(steps.begin(), rank_program);
        return start(steps, options);
    }
    const TemporaryFolder& folder() const { return folder_; }

  private:
    TemporaryFolder folder_;
};

inline pid_t only(const std::vector<pid_t>& pids) {
    REQUIRE(pids.size() == 1);
    return pids.front();
}

// On another host: the process that the agent became, and its child, the parent of the ranks there.
inline pid_t guard_of(const Process& process, const std::string& host) {
    return only(process.marked("torus-run", "FAKE_HOST=" + host));
}
inline pid_t daemon_of(const Process& process, const std::string& host) {
    return only(process.marked("torus-daemon", "FAKE_HOST=" + host));
}
// Not one of the processes that it leaves behind, in sessions of their own. Long names are cut in
// comm.
inline pid_t rank_of(const Process& process, const std::string& host) {
    auto found =
        process.marked(std::string("launch_rank_program").substr(0, 15), "HOME=/home/of/" + host);
    const pid_t session = getsid(daemon_of(process, host));
    std::erase_if(found, [session](pid_t pid) { return getsid(pid) != session; });
    return only(found);
}

}  // namespace torusmp::torus_run::test
