// SPDX-License-Identifier: BSD-3-Clause
// Who counts as a rank on our processors.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/network.h"
#include "job/processors.h"

namespace processors_test {

using namespace torusmp;

// What other hosts tell is what this one tells, changed.
struct Others final : launch::Bootstrap {
    std::string_view name() const override { return "others"; }
    int rank() const override { return 0; }
    int size() const override { return 1 + int(changes.size()); }
    const std::vector<int>& local_ranks() const override { return local; }
    std::span<const std::byte> secret() const override { return {}; }
    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        std::vector<std::vector<std::byte>> all{{mine.begin(), mine.end()}};
        for (const std::string& change : changes) {
            all.push_back(all.front());
            if (change == "dead") all.back().clear();
            if (change == "other machine") all.back().front() ^= std::byte{1};
            if (change == "other processors") all.back().push_back(std::byte{','});
        }
        return all;
    }
    void barrier() override {}
    [[noreturn]] void abort(int /*code*/, std::string_view /*message*/) override { std::abort(); }
    void finalize() override {}

    std::vector<std::string> changes;
    std::vector<int> local{0};
};

TEST_CASE("ranks on hosts of the same machine and processors share these") {
    Others others;
    CHECK(job::ranks_on_processors(others) == 1);
    others.changes = {"", "other machine", "", "other processors", "dead", ""};
    CHECK(job::ranks_on_processors(others) == 4);
}

TEST_CASE("ranks of this host count whatever they tell") {
    Others others;
    others.changes = {"other processors", "other processors", "other machine"};
    others.local = {0, 1, 2};
    CHECK(job::ranks_on_processors(others) == 3);
}

TEST_CASE("a machine has a name") {
    CHECK_FALSE(config::this_machine().empty());
    CHECK(config::this_host().machine() == config::this_machine());
}

}  // namespace processors_test
