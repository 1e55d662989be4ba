// SPDX-License-Identifier: BSD-3-Clause
// Changes between the cables of a geometry file and the cables that were found.
#include "programs/torus_check/cabling.h"

#include <catch2/catch.hpp>

using namespace torusmp;
using torus_check::Cabling;
using torus_check::CablingEnd;
using torus_check::changes_of_cabling;

namespace {

const CablingEnd a1{"a", "e1"}, a2{"a", "e2"}, a3{"a", "e3"}, b1{"b", "e1"}, b2{"b", "e2"},
    c1{"c", "e1"}, c2{"c", "e2"}, d1{"d", "e1"};
using Changes = std::vector<std::string>;

}  // namespace

TEST_CASE("Equal cabling has no changes") {
    CHECK(changes_of_cabling({}, {}).empty());
    CHECK(changes_of_cabling({{a1, b2}, {b1, c2}}, {{a1, b2}, {b1, c2}}).empty());
}

TEST_CASE("Missing and new cables are named by both ends") {
    CHECK(changes_of_cabling({{a1, b2}, {b1, c2}}, {{b1, c2}, {a3, d1}}) ==
          Changes{"the cable from a e1 to b e2 is missing", "the cable from a e3 to d e1 is new"});
}

TEST_CASE("Another device at one end of a cable is distinguished from another cable") {
    CHECK(changes_of_cabling({{a1, b2}}, {{a3, b2}}) ==
          Changes{"the cable from a e1 to b e2 is now at a e3"});
    CHECK(changes_of_cabling({{a1, b2}}, {{a1, b1}}) ==
          Changes{"the cable from a e1 to b e2 is now at b e1"});
}

TEST_CASE("Exchanged cables are named at every end") {
    CHECK(changes_of_cabling({{a1, b2}, {c1, d1}}, {{a1, d1}, {b2, c1}}) ==
          Changes{"a e1 leads to d e1, before to b e2", "d e1 leads to a e1, before to c e1",
                  "b e2 leads to c e1, before to a e1", "c e1 leads to b e2, before to d e1"});
}

TEST_CASE("Cables are found where exactly two ends hear each other, and even one way") {
    std::vector<torus_check::HostResult> results(3);
    const auto hears = [&](int at, const char* device, int from, const char* far) {
        torus_check::Heard heard{};
        heard.device = device;
        heard.node = from;
        heard.from = far;
        results[std::size_t(at)].report.heard.push_back(heard);
    };
    hears(0, "e1", 1, "e2");
    hears(1, "e2", 0, "e1");
    hears(2, "e2", 1, "e1");  // one way
    for (int at = 0; at < 3; ++at)
        for (int from = 0; from < 3; ++from)
            if (at != from) hears(at, "lan", from, "lan");
    hears(0, "e2", 2, "e1");
    const auto found = torus_check::cabling_found(
        {"a", "b", "c"}, results, [](const std::string& device) { return device != "e9"; });
    CHECK(found == Cabling{{a1, b2}, {b1, c2}, {a2, c1}});
    CHECK(torus_check::cabling_found({"a", "b", "c"}, results, [](const std::string& device) {
              return device != "e2";
          }).empty());
}
