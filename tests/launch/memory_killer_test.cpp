// SPDX-License-Identifier: BSD-3-Clause
// Ranks that the kernel kills because memory runs out.
#include "programs/torus_run/daemon/memory_killer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <optional>

#include "config/cgroup.h"
#include "folder.h"
#include "local_job.h"
#include "process.h"
#include "programs.h"

namespace torusmp::torus_run::test::memory_killer_test {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

constexpr std::uint64_t MiB = std::uint64_t(1) << 20;

// A system with files that say what we like.
class System {
  public:
    System() { write("proc/meminfo", "MemTotal:       24117248 kB\n"); }
    void write(const std::string& name, const std::string& text) const {
        const fs::path file = root() / name;
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void append(const std::string& name, const std::string& text) const {
        std::ofstream(root() / name, std::ios::app) << text;
    }
    fs::path root() const { return folder_.path(); }

  private:
    TemporaryFolder folder_;
};

TEST_CASE("The kernel's log names only the process that it killed") {
    const System system;
    system.write("dev/kmsg", "6,1,1,-;Out of memory: Killed process 4711 (of an earlier job)\n");
    MemoryKiller killer(system.root());
    CHECK(killer.describe(4711, MiB).empty());
    system.append("dev/kmsg",
                  "3,2,2,-;Memory cgroup out of memory: Killed process 4711 (a) total-vm:9kB\n");
    CHECK(killer.describe(471, MiB).empty());
    CHECK(killer.describe(4711, 7987 * MiB) ==
          ": the kernel killed it because memory ran out (it used 7.8 GiB; the host has 23.0 GiB): "
          "start fewer ranks on this host, or raise the limit");
}

TEST_CASE("A counter of the control group reports each process that the kernel killed, once") {
    const System system;
    SECTION("version 2") {
        system.write("proc/self/cgroup", "0::/jobs/17\n");
        system.write("sys/fs/cgroup/jobs/memory.max", "314572800\n");
        system.write("sys/fs/cgroup/jobs/17/memory.max", "max\n");
        system.write("sys/fs/cgroup/jobs/17/memory.events", "low 0\noom 5\noom_kill 2\n");
        MemoryKiller killer(system.root());
        CHECK(killer.describe(1, MiB).empty());
        system.write("sys/fs/cgroup/jobs/17/memory.events", "low 0\noom 6\noom_kill 3\n");
        CHECK_THAT(killer.describe(1, 310 * MiB),
                   Contains(": the kernel killed it because memory ran out (it used 310 MiB; ") &&
                       Contains("sys/fs/cgroup/jobs/memory.max is 300 MiB): start fewer ranks"));
        CHECK(killer.describe(2, MiB).empty());
    }
    SECTION("version 1") {
        system.write("proc/self/cgroup", "4:memory:/jobs\n");
        system.write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "314572800\n");
        system.write("sys/fs/cgroup/memory/jobs/memory.oom_control",
                     "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
        MemoryKiller killer(system.root());
        system.write("sys/fs/cgroup/memory/jobs/memory.oom_control",
                     "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
        for (int process = 1; process <= 2; ++process)
            CHECK_THAT(killer.describe(process, 0),
                       Contains("memory/jobs/memory.limit_in_bytes is 300 MiB"));
        CHECK(killer.describe(3, 0).empty());
    }
    SECTION("only a counter of all processes of the host") {
        system.write("proc/vmstat", "pgfault 7\noom_kill 1\n");
        MemoryKiller killer(system.root());
        CHECK(killer.describe(1, MiB).empty());
        system.write("proc/vmstat", "pgfault 8\noom_kill 2\n");
        CHECK_THAT(killer.describe(1, MiB), Contains(": possibly by the kernel, which killed a "
                                                     "process of this host because memory ran out "
                                                     "(it used 1 MiB; the host has 23.0 GiB)"));
    }
}

TEST_CASE("A system without records of killed processes gives no reason") {
    const TemporaryFolder empty;
    CHECK(MemoryKiller(empty.path()).describe(1, MiB).empty());
}

bool put(const fs::path& file, std::uint64_t number) {
    if (!fs::exists(file)) return false;
    std::ofstream out(file);
    out << number << std::flush;
    return bool(out);
}

// A control group below the group of this process, with a limit in bytes; nothing if it cannot be
// created.
std::optional<fs::path> make_group(std::uint64_t limit) {
    for (const config::ControlGroup& above : config::control_groups("memory")) {
        const fs::path folder = above.folder / fmt::format("torusmp-test-{}", getpid());
        std::error_code error;
        if (!fs::create_directory(folder, error)) continue;
        const bool limited =
            put(folder / (above.unified ? "memory.max" : "memory.limit_in_bytes"), limit);
        // Else memory would be moved to the disk.
        put(folder / (above.unified ? "memory.swap.max" : "memory.memsw.limit_in_bytes"),
            above.unified ? 0 : limit);
        if (limited) return folder;
        fs::remove(folder, error);
    }
    return std::nullopt;
}

TEST_CASE("A rank that the kernel kills because memory runs out is reported as such") {
    const auto group = make_group(200 * MiB);
    if (!group) {
        WARN("no control group with a limit of memory can be made here");
        return;
    }
    Words command{"/bin/sh", "-c",
                  fmt::format("echo $$ > {}/cgroup.procs && exec \"$@\"", group->string()), "sh"};
    const Words ranks = job(2, {"connect", "barrier", "1:eat=1000", "sleep"});
    command.insert(command.end(), ranks.begin(), ranks.end());
    const Outcome outcome = run(command);
    INFO(outcome.errors);
    CHECK(outcome.code == 128 + SIGKILL);
    CHECK_CONTAINS(outcome.errors, "rank 1 (host ");
    CHECK_CONTAINS(outcome.errors,
                   "was killed by SIGKILL (Killed): the kernel killed it because memory ran out "
                   "(it used ");
    CHECK_CONTAINS(outcome.errors, " is 200 MiB): start fewer ranks on this host");
    CHECK(outcome.lines_of_torus_run() == 1);
    for (int i = 0; i < 1000 && rmdir(group->c_str()) != 0; ++i) usleep(10'000);
}

}  // namespace torusmp::torus_run::test::memory_killer_test
