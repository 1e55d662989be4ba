// Groups that span hosts with several ranks each.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "collectives/crew.h"
#include "collectives/reduce/reduce.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;
using torusmp::core::Rank;

namespace {

JobOptions job_of_hosts(int per_host, std::uint64_t seed) {
    JobOptions options = job_of({2, 3, 4}, false, seed);
    options.per_host = per_host;
    return options;
}

// All ranks, or some of them in another order.
std::vector<Rank> members_of(const Job& job, std::uint64_t seed) {
    auto members = all_ranks(job);
    if (seed % 2 == 0) {
        std::shuffle(members.begin(), members.end(), std::mt19937(unsigned(seed)));
        members.resize(13);
    }
    return members;
}

using Vectors = std::vector<std::vector<float>>;

Vectors contributions(int nodes, std::size_t count) {
    Vectors values(static_cast<std::size_t>(nodes));
    for (int node = 0; node < nodes; ++node)
        for (std::size_t i = 0; i < count; ++i)
            values[std::size_t(node)].push_back(float(node + 1) / 3.0f + float(i % 7));
    return values;
}

void check_sum(const std::vector<float>& result, int nodes) {
    for (std::size_t i = 0; i < result.size(); i += 61) {
        double expected = 0;
        for (int node = 0; node < nodes; ++node) expected += (node + 1) / 3.0 + double(i % 7);
        REQUIRE(result[i] == Approx(expected));
    }
}

Vectors allreduced(int per_host, std::size_t count, std::uint64_t seed, std::uint64_t delays) {
    Crew<Allreduce> crew;
    Vectors values;
    Job job(job_of_hosts(per_host, delays));
    crew.sign_on(job, members_of(job, seed));
    REQUIRE(crew.groups[0]->hosts() != nullptr);
    values = contributions(crew.size(), count);
    for (int node = 0; node < crew.size(); ++node)
        crew[node].start(values[std::size_t(node)].data(), count, float_sum);
    INFO(job.report());
    REQUIRE(job.run_until([&] { return crew.complete(); }));
    check_sum(values[0], crew.size());
    for (const auto& other : values)
        REQUIRE(std::memcmp(other.data(), values[0].data(), count * sizeof(float)) == 0);
    job.settle();
    CHECK(job.tokens_home());
    return values;
}

}  // namespace

TEST_CASE("Only groups with several hosts, and several members on one of them, go by hosts") {
    Job job(job_of_hosts(2, 1));
    Group all(job[0], all_ranks(job), 7);
    REQUIRE(all.hosts() != nullptr);
    CHECK(all.hosts()->local.members() == std::vector<Rank>{0, 1});
    REQUIRE(all.hosts()->leaders != nullptr);
    CHECK(all.hosts()->leaders->size() == 12);
    // The first ranks of all hosts are a torus of their own.
    CHECK(all.hosts()->leaders->torus().describe() == "2x3x2");
    Group second(job[1], all_ranks(job), 7);
    REQUIRE(second.hosts() != nullptr);
    CHECK(second.hosts()->leaders == nullptr);
    Group spread(job[0], {0, 2, 4}, 7);
    CHECK(spread.hosts() == nullptr);
    Group host(job[0], {1, 0}, 7);
    CHECK(host.hosts() == nullptr);
}

TEST_CASE("A sum over hosts has the same bits on every rank and in every run") {
    for (const int per_host : {2, 4, 12})
        for (const std::uint64_t seed : {1, 2})
            for (const std::size_t count : {std::size_t(1), std::size_t(9000)})
                REQUIRE(allreduced(per_host, count, seed, 1) ==
                        allreduced(per_host, count, seed, 2));
}

TEST_CASE("Broadcasts and reductions over hosts know any root") {
    for (const int per_host : {2, 4})
        for (const std::uint64_t seed : {1, 2})
            for (const std::size_t count : {std::size_t(5), std::size_t(9000)}) {
                Crew<Reduce> reduces;
                Crew<Broadcast> broadcasts;
                Vectors values;
                Job job(job_of_hosts(per_host, seed));
                reduces.sign_on(job, members_of(job, seed), 7);
                broadcasts.sign_on(job, members_of(job, seed), 8);
                for (int root = 0; root < reduces.size(); root += 5) {
                    values = contributions(reduces.size(), count);
                    const Vectors before = values;
                    std::vector<float> result(count);
                    for (int node = 0; node < reduces.size(); ++node)
                        reduces[node].start(node == root ? result.data() : nullptr,
                                            values[std::size_t(node)].data(), count, float_sum,
                                            root);
                    INFO(job.report());
                    REQUIRE(job.run_until([&] { return reduces.complete(); }));
                    check_sum(result, reduces.size());
                    REQUIRE(values == before);
                    for (int node = 0; node < broadcasts.size(); ++node)
                        broadcasts[node].start(values[std::size_t(node)].data(),
                                               count * sizeof(float), root);
                    REQUIRE(job.run_until([&] { return broadcasts.complete(); }));
                    for (const auto& of_one : values) REQUIRE(of_one == before[std::size_t(root)]);
                }
            }
}

TEST_CASE("A barrier over hosts holds everybody until the last has come") {
    Crew<Allreduce> crew;
    Job job(job_of_hosts(4, 3));
    crew.sign_on(job, all_ranks(job));
    for (int node = 0; node < crew.size(); ++node)
        if (node != 13) crew[node].start_barrier();
    job.settle();
    for (int node = 0; node < crew.size(); ++node)
        if (node != 13) REQUIRE_FALSE(crew[node].complete());
    crew[13].start_barrier();
    INFO(job.report());
    REQUIRE(job.run_until([&] { return crew.complete(); }));
}

// Each rank has several under way on one group, and reaches their parts in an order of its own.
TEST_CASE("Collectives over hosts that are under way at the same time do not mix") {
    constexpr std::size_t count = 3000;
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
        struct Calls {
            explicit Calls(Group& group)
                : first(group), second(group), sum(group), reduce(group), last(group) {}
            Broadcast first, second;
            Allreduce sum;
            Reduce reduce;
            Broadcast last;
            bool complete() const {
                return first.complete() && second.complete() && sum.complete() &&
                       reduce.complete() && last.complete();
            }
        };
        Crew<Calls> crew;
        std::vector<Vectors> values;  // by call, then by node
        std::vector<float> result(count);
        Job job(job_of_hosts(4, seed));
        for (const Rank rank : all_ranks(job)) {
            crew.groups.push_back(std::make_unique<Group>(job[rank], all_ranks(job), 7));
            crew.schedules.emplace_back(*crew.groups.back());
        }
        const int nodes = crew.size();
        for (int call = 0; call < 5; ++call) values.push_back(contributions(nodes, count));
        const auto data = [&](int call, int node) {
            return values[std::size_t(call)][std::size_t(node)].data();
        };
        for (int node = 0; node < nodes; ++node) {
            Calls& calls = crew[node];
            calls.first.start(data(0, node), count * sizeof(float), 9);
            calls.second.start(data(1, node), count * sizeof(float), 22);
            calls.sum.start(data(2, node), count, float_sum);
            calls.reduce.start(node == 6 ? result.data() : nullptr, data(3, node), count, float_sum,
                               6);
            calls.last.start(data(4, node), count * sizeof(float), 1);
            for (std::uint64_t i = 0; i < seed * 7; ++i) job.turn();
        }
        INFO(job.report());
        REQUIRE(job.run_until([&] {
            for (const Calls& calls : crew.schedules)
                if (!calls.complete()) return false;
            return true;
        }));
        const Vectors before = contributions(nodes, count);
        check_sum(result, nodes);
        for (int node = 0; node < nodes; ++node) {
            REQUIRE(values[0][std::size_t(node)] == before[9]);
            REQUIRE(values[1][std::size_t(node)] == before[22]);
            check_sum(values[2][std::size_t(node)], nodes);
            REQUIRE(values[4][std::size_t(node)] == before[1]);
        }
    }
}

TEST_CASE("A rank that dies ends a collective over hosts for all others, with its name") {
    for (const int turns : {0, 30, 200, 600}) {
        Crew<Allreduce> crew;
        Vectors values;
        Job job(job_of_hosts(4, std::uint64_t(turns)));
        crew.sign_on(job, all_ranks(job));
        values = contributions(crew.size(), 9000);
        for (int node = 0; node < crew.size(); ++node)
            crew[node].start(values[std::size_t(node)].data(), 9000, float_sum);
        for (int i = 0; i < turns; ++i) job.turn();
        job.kill(10);
        INFO(job.report());
        REQUIRE(job.run_until([&] {
            for (int node = 0; node < crew.size(); ++node)
                if (node != 10 && !crew[node].complete()) return false;
            return true;
        }));
        for (int node = 0; node < crew.size(); ++node)
            if (node != 10) CHECK(crew[node].failed_peer() == 10);
    }
}
