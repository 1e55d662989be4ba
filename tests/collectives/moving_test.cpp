// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "collectives/simulated_group.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::testing::fill;
using torusmp::core::testing::filled;

namespace moving_test {
namespace {

const std::vector<std::vector<int>> shapes{{1}, {2}, {5}, {2, 2}, {3, 4}, {2, 1, 3}, {3, 2, 2}};

}  // namespace

TEST_CASE("A broadcast reaches all members from any root, by every algorithm and size") {
    for (const auto& dims : shapes)
        for (const Wanted algorithm : every(broadcast::algorithms()))
            for (const bool direct : {true, false})
                for (const std::size_t bytes :
                     {std::size_t(0), std::size_t(3), std::size_t(5000)}) {
                    SimulatedGroup<Broadcast> simulated;
                    std::vector<std::vector<std::byte>> data;
                    Job job(job_of(dims, direct, bytes));
                    simulated.sign_on(job, all_ranks(job));
                    data.assign(std::size_t(simulated.size()), std::vector<std::byte>(bytes + 1));
                    for (int root = 0; root < simulated.size(); root += 3) {
                        for (auto& bytes_of_one : data)
                            std::fill(bytes_of_one.begin(), bytes_of_one.end(), std::byte{0});
                        fill(data[std::size_t(root)].data(), bytes, std::uint64_t(root) + 1);
                        for (int member = 0; member < simulated.size(); ++member)
                            simulated[member].start(data[std::size_t(member)].data(), bytes, root,
                                                    algorithm);
                        INFO(job.report());
                        REQUIRE(job.run_until([&] { return simulated.complete(); }));
                        for (const auto& bytes_of_one : data) {
                            REQUIRE(filled(bytes_of_one.data(), bytes, std::uint64_t(root) + 1));
                            REQUIRE(bytes_of_one[bytes] == std::byte{0});
                        }
                    }
                }
}

TEST_CASE("In an alltoall each block comes from the member that sent it") {
    for (const auto& dims : shapes)
        for (const bool direct : {true, false})
            for (const std::size_t block : {std::size_t(0), std::size_t(5), std::size_t(700)}) {
                SimulatedGroup<Alltoall> simulated;
                std::vector<std::vector<std::byte>> out;
                std::vector<std::vector<std::byte>> in;
                Job job(job_of(dims, direct, block + 1));
                // Nodes in another order than ranks.
                auto members = all_ranks(job);
                std::reverse(members.begin(), members.end());
                simulated.sign_on(job, members);
                const auto nodes = std::size_t(simulated.size());
                in.assign(nodes, std::vector<std::byte>(block * nodes));
                out = in;
                for (std::size_t a = 0; a < nodes; ++a)
                    for (std::size_t b = 0; b < nodes; ++b)
                        fill(out[a].data() + b * block, block, a * 1000 + b);
                for (std::size_t a = 0; a < nodes; ++a)
                    simulated[int(a)].start(in[a].data(), Blocks::even(block), out[a].data(),
                                            Blocks::even(block));
                INFO(job.report());
                REQUIRE(job.run_until([&] { return simulated.complete(); }));
                for (std::size_t a = 0; a < nodes; ++a)
                    for (std::size_t b = 0; b < nodes; ++b)
                        REQUIRE(filled(in[a].data() + b * block, block, b * 1000 + a));
            }
}

TEST_CASE("Members that do not fill a box of the machine can broadcast and exchange, too") {
    const std::vector<torusmp::core::Rank> members{11, 0, 3, 7, 5};
    SimulatedGroup<Broadcast> broadcasts;
    SimulatedGroup<Alltoall> exchanges;
    std::vector<int> values(5, 0);
    std::vector<std::array<int, 5>> out(5);
    std::vector<std::array<int, 5>> in(5);
    Job job(job_of({3, 4}, false));
    broadcasts.sign_on(job, members, 1);
    exchanges.sign_on(job, members, 2);
    values[3] = 42;
    for (int a = 0; a < 5; ++a) {
        for (int b = 0; b < 5; ++b) out[std::size_t(a)][std::size_t(b)] = a * 10 + b;
        broadcasts[a].start(&values[std::size_t(a)], sizeof(int), 3);
        exchanges[a].start(in[std::size_t(a)].data(), Blocks::even(sizeof(int)),
                           out[std::size_t(a)].data(), Blocks::even(sizeof(int)));
    }
    REQUIRE(job.run_until([&] { return broadcasts.complete() && exchanges.complete(); }));
    CHECK(values == std::vector<int>(5, 42));
    for (int a = 0; a < 5; ++a)
        for (int b = 0; b < 5; ++b) CHECK(in[std::size_t(a)][std::size_t(b)] == b * 10 + a);
}

}  // namespace moving_test
