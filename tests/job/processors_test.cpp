// SPDX-License-Identifier: BSD-3-Clause
// The detection of more ranks than processors.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "config/cpus.h"
#include "config/network.h"
#include "job/processors.h"
#include "launch/environment.h"

namespace processors_test {

using namespace torusmp;

// The ranks of other hosts report a modified copy of the report of this host.
struct Others : launch::Bootstrap {
    std::string_view name() const override { return "others"; }
    int rank() const override { return 0; }
    int size() const override { return int(local.size() + others.size()); }
    const std::vector<int>& local_ranks() const override { return local; }
    std::span<const std::byte> secret() const override { return {}; }
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        std::vector<std::vector<std::byte>> all(local.size(), {mine.begin(), mine.end()});
        for (const std::string& other : others) {
            all.push_back(all.front());
            if (other == "dead") all.back().clear();
            if (other != "dead" && other != "here")
                for (const char c : other) all.back().push_back(std::byte(c));
        }
        return all;
    }
    void barrier() override {}
    [[noreturn]] void abort(int /*code*/, std::string_view /*message*/) override { std::abort(); }
    void finalize() override {}
    void add(int ranks, const std::string& where) {
        others.insert(others.end(), std::size_t(ranks), where);
    }

    std::vector<std::string> others;
    std::vector<int> local{0};
};

// Fewer where a cgroup grants a part of one.
const int processors = int(job::processor_count(job::processors_of_job()));

TEST_CASE("ranks on several hosts that are one machine share its processors") {
    if (processors == 0) return;
    Others others;
    CHECK_FALSE(job::find_core_sharing(others, false).here);
    others.add(processors - 1, "here");
    others.add(1, "elsewhere");
    others.add(1, "dead");
    CHECK_FALSE(job::find_core_sharing(others, false).here);
    CHECK_FALSE(job::find_core_sharing(others, false).somewhere);
    others.add(1, "here");
    CHECK(job::find_core_sharing(others, false).here);
    CHECK(job::find_core_sharing(others, false).somewhere);
}

TEST_CASE("too many ranks on another machine are known here, but do not affect this machine") {
    if (processors == 0) return;
    Others others;
    others.add(processors, "elsewhere");
    CHECK_FALSE(job::find_core_sharing(others, false).somewhere);
    others.add(1, "elsewhere");
    CHECK_FALSE(job::find_core_sharing(others, false).here);
    CHECK(job::find_core_sharing(others, false).somewhere);
}

TEST_CASE("a host that has all ranks does not ask other hosts") {
    Others others;
    others.local.resize(std::size_t(processors) + 1);
    CHECK(job::find_core_sharing(others, false).here);
    CHECK_FALSE(job::find_core_sharing(others, false).somewhere);
}

// Two ranks of one host, the other of which may use half a processor.
struct Apart final : Others {
    Apart() { local = {0, 1}; }
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        constexpr std::string_view half = "0.5 machine 0";
        const auto bytes = std::as_bytes(std::span(half));
        return {{mine.begin(), mine.end()}, {bytes.begin(), bytes.end()}};
    }
};

TEST_CASE(
    "ranks of one host that were started separately agree on the smallest number of processors") {
    Apart others;
    CHECK(job::find_core_sharing(others, false).here == (processors < 2));
    CHECK(job::find_core_sharing(others, true).here);
}

// The exit code of what a child process returns.
int in_child(auto&& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a script between torus-run and a rank does not hide the processors of the job") {
    const config::CpuList all = config::allowed_cpus();
    if (all.size() < 2) return;
    const std::string launcher = std::to_string(::getpid());
    const int script = in_child([&] {
        if (config::Affinity({all.front()}).apply() != 0) return 2;
        ::setenv(launch::env_launcher, launcher.c_str(), 1);
        const pid_t rank = ::fork();
        if (rank == 0) ::_exit(job::processors_of_job() == all ? 0 : 1);
        int status = -1;
        ::waitpid(rank, &status, 0);
        return WEXITSTATUS(status);
    });
    CHECK(script == 0);
}

TEST_CASE("a machine has a name") {
    CHECK_FALSE(config::this_machine().empty());
    CHECK(config::this_host().machine() == config::this_machine());
}

}  // namespace processors_test
