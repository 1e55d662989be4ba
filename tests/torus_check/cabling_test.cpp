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

// What each end hears, for hosts a, b and c.
struct Survey {
    void hears(int at, const char* device, int from, const char* far) {
        torus_check::Heard heard{};
        heard.device = device;
        heard.node = from;
        heard.from = far;
        results[std::size_t(at)].report.heard.push_back(heard);
    }
    Cabling found(const char* unwanted, const Cabling& in_file = {}) const {
        return torus_check::cabling_found(
            {"a", "b", "c"}, results,
            [unwanted](const std::string& device) { return device != unwanted; }, in_file);
    }
    std::vector<torus_check::HostResult> results{3};
};

TEST_CASE("Cables are found where exactly two ends hear each other, and even one way") {
    Survey survey;
    survey.hears(0, "e1", 1, "e2");
    survey.hears(1, "e2", 0, "e1");
    survey.hears(2, "e2", 1, "e1");  // one way
    for (int at = 0; at < 3; ++at)
        for (int from = 0; from < 3; ++from)
            if (at != from) survey.hears(at, "lan", from, "lan");
    survey.hears(0, "e2", 2, "e1");
    CHECK(survey.found("e9") == Cabling{{a1, b2}, {b1, c2}, {a2, c1}});
    CHECK(survey.found("e2").empty());
}

TEST_CASE("Twins that hear each other are cables, paired as in the file") {
    Survey survey;
    for (const char* own : {"e1", "e2"})
        for (const char* far : {"e1", "e2"}) survey.hears(0, own, 1, far);
    survey.hears(0, "e1", 0, "e2");
    survey.hears(1, "e2", 1, "e1");
    CHECK(survey.found("") == Cabling{{a1, b1}, {a2, b2}});
    CHECK(survey.found("", {{a1, b2}, {a2, b1}}) == Cabling{{a1, b2}, {a2, b1}});
    CHECK(survey.found("", {{a1, b2}}) == Cabling{{a1, b2}, {a2, b1}});
    survey.hears(2, "e1", 0, "e1");  // a switch
    CHECK(survey.found("").empty());
    Survey loop;
    loop.hears(0, "e1", 0, "e2");
    CHECK(loop.found("") == Cabling{{a1, a2}});
}
