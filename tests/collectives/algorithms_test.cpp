// SPDX-License-Identifier: BSD-3-Clause
// The tables of algorithms: the texts of their rows, and the results of every row of every
// operation.
#include <catch2/catch.hpp>
#include <set>

#include "collectives/operations.h"
#include "collectives/settings.h"
#include "collectives/soak_tasks.h"

using namespace torusmp::collectives;
using namespace torusmp::collectives::testing;

namespace algorithms_test {

TEST_CASE(
    "A table explains its rows, and its defaults are printed in the form in which they are read") {
    for (const AlgorithmTable* table : operations()) {
        INFO(table->operation());
        CHECK(format_choice(*table, table->defaults()) == table->facts().defaults);
        CHECK_NOTHROW(parse_choice(*table, table->facts().example, table->defaults()));
        std::set<std::string_view> names;
        for (const AlgorithmRow& row : table->rows()) {
            INFO(row.name);
            CHECK(names.insert(row.name).second);
            CHECK(&table->row(row.name) == &row);
            CHECK_FALSE(row.help.empty());
            CHECK_THAT(table->help(), Catch::Contains(std::string(row.help)));
        }
    }
}

TEST_CASE("An unknown name is reported with the known names") {
    for (const AlgorithmTable* table : operations()) {
        std::string names;
        for (const AlgorithmRow& row : table->rows())
            names += (names.empty() ? "" : ", ") + std::string(row.name);
        CHECK_THROWS_WITH(table->row("bush"), "'bush' is not an algorithm of " +
                                                  std::string(table->operation()) + " (expected " +
                                                  names + ")");
        CHECK_THROWS_WITH(parse_choice(*table, "links: bush", table->defaults()),
                          Catch::Contains(names));
    }
}

TEST_CASE("A row of another operation is refused") {
    const AlgorithmTable& broadcasts = broadcast::algorithms();
    CHECK_THROWS_WITH(broadcasts.index_of(*named(reduce::algorithms(), "lines")),
                      Catch::Contains("another operation than broadcast"));
}

TEST_CASE("Rows that need the name of another row, but lack it, are refused") {
    struct Nothing {};
    const auto never = [](const Conditions&) { return false; };
    using Table = AlgorithmsFor<Nothing>;
    const Table::Row always{{.name = "a", .help = "a"}, nullptr};
    const Table::Row leads_nowhere{{.name = "b", .help = "b", .applies = never}, nullptr};
    const Table::Row to_c{{.name = "b", .help = "b", .applies = never, .instead = "c"}, nullptr};
    const Table::Row to_b{{.name = "c", .help = "c", .pays = never, .instead = "b"}, nullptr};
    const AlgorithmTable::Facts facts{
        .operation = "nothing", .help = "", .defaults = "a", .example = "a"};
    CHECK_NOTHROW(Table(facts, {always}));
    CHECK_THROWS_WITH(Table(facts, {always, leads_nowhere}), Catch::Contains("(expected a, b)"));
    CHECK_THROWS_WITH(Table(facts, {always, to_c, to_b}), Catch::Contains("in a circle"));
}

TEST_CASE("Every row of every operation gives the right answer on random groups") {
    const int seed = GENERATE(range(1, 9));
    Random random{std::uint64_t(seed)};
    const std::vector<std::vector<int>> machines{{5}, {2, 2}, {3, 4}, {2, 3, 2}, {4, 2, 3}};
    JobOptions options = job_of(machines[std::size_t(random.below(machines.size()))],
                                random.below(2) == 0, std::uint64_t(seed));
    options.credits = options.relay_credits = 2;
    std::vector<Team> teams = random_teams(torusmp::routing::Torus(options.dims), random);
    std::unique_ptr<SoakTask> task;
    Job job(options);
    for (std::size_t i = 0; i < teams.size(); ++i)
        teams[i].sign_on(job, torusmp::core::Context(10 + i));
    for (const AlgorithmTable* table : operations())
        for (const Wanted algorithm : every(*table))
            for (Team& team : teams) {
                task = task_of(*table, algorithm, team, random);
                REQUIRE(task != nullptr);
                INFO(task->describe() << " on " << team.name << " of seed " << seed);
                for (int member = 0; member < team.size(); ++member) task->start(member);
                REQUIRE(job.run_until([&] {
                    for (int member = 0; member < team.size(); ++member)
                        if (!task->schedule(member).complete()) return false;
                    return true;
                }));
                for (int member = 0; member < team.size(); ++member)
                    REQUIRE(task->schedule(member).error() == torusmp::core::Error::none);
                REQUIRE(task->wrong() == "");
                task.reset();
            }
}

}  // namespace algorithms_test
