// SPDX-License-Identifier: BSD-3-Clause
// Ids of requests that peers refer to: never 0, never given twice at a time, and useless
// afterwards.
#include "core/pt2pt/id_table.h"

#include <catch2/catch.hpp>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

namespace torusmp::core::id_table_test {

TEST_CASE("an id finds its object until the object is removed, and nothing afterwards", "[core]") {
    std::mt19937 random(28);
    std::vector<int> objects(50);
    IdTable<int> table;
    std::map<std::uint32_t, int*> known;
    std::vector<std::uint32_t> gone;
    for (int round = 0; round < 5000; ++round) {
        if (random() % 2 == 0 && known.size() < objects.size()) {
            int& object = objects[random() % objects.size()];
            const std::uint32_t id = table.add(object);
            REQUIRE(id != 0);
            REQUIRE(known.emplace(id, &object).second);
        } else if (!known.empty()) {
            const auto it = std::next(known.begin(), long(random() % known.size()));
            table.remove(it->first);
            gone.push_back(it->first);
            known.erase(it);
        }
        for (const auto& [id, object] : known) REQUIRE(table.find(id) == object);
        std::size_t seen = 0;
        table.for_each([&](int&) { ++seen; });
        REQUIRE(seen == known.size());
        REQUIRE(table.empty() == known.empty());
        // A generation has 4095 values, far more than one entry is used here between two checks.
        if (!gone.empty() && known.count(gone.back()) == 0)
            REQUIRE(table.find(gone.back()) == nullptr);
    }
    CHECK(table.find(0) == nullptr);
}

TEST_CASE("a million ids are the limit, and one that returns may be used again", "[core]") {
    int object = 0;
    IdTable<int> table;
    CHECK(table.has_room());
    std::uint32_t last = 0;
    for (int i = 0; i < 1 << 20; ++i) last = table.add(object);
    CHECK_FALSE(table.has_room());
    CHECK_THROWS_AS(table.add(object), std::length_error);
    table.remove(last);
    const std::uint32_t next = table.add(object);
    CHECK(next != last);
    CHECK(table.find(last) == nullptr);
    CHECK(table.find(next) == &object);
}

}  // namespace torusmp::core::id_table_test
