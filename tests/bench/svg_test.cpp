// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <cmath>
#include <regex>
#include <sstream>
#include <string>

#include "bench/torus_bench/svg.h"

using namespace torusmp::bench;

namespace {

Table one_curve(std::initializer_list<std::pair<std::size_t, double>> points) {
    Table table;
    table.title = "a < b & \"c\"";
    table.y_label = "y";
    table.columns = {{"", "curve", "us", Column::Draw::line, 0},
                     {"", "hidden", "us", Column::Draw::no, 1}};
    for (const auto& [x, y] : points) table.rows.push_back({x, {{y, y, {y}}, {y, y, {y}}}});
    return table;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

std::vector<std::pair<double, double>> points_of(const std::string& svg) {
    std::smatch found;
    REQUIRE(std::regex_search(svg, found, std::regex("polyline points=\"([^\"]*)\"")));
    std::istringstream in(found[1].str());
    std::vector<std::pair<double, double>> points;
    char comma = 0;
    for (double x = 0, y = 0; in >> x >> comma >> y;) points.emplace_back(x, y);
    return points;
}

}  // namespace

TEST_CASE("A picture draws the columns that are meant to be drawn") {
    const std::string svg = as_svg(one_curve({{1, 1}, {2, 2}, {4, 4}}), "on <this> machine");
    CHECK(count(svg, "<polyline") == 1);
    CHECK(count(svg, "<circle") == 3);
    CHECK(svg.find("hidden") == std::string::npos);
    CHECK(svg.find("a &lt; b &amp; &quot;c&quot;") != std::string::npos);
    CHECK(svg.find("on &lt;this&gt; machine") != std::string::npos);
}

TEST_CASE("Equal factors are equal distances on both axes") {
    const auto points = points_of(as_svg(one_curve({{1, 10}, {4, 100}, {16, 1000}}), ""));
    REQUIRE(points.size() == 3);
    CHECK(points[1].first - points[0].first ==
          Approx(points[2].first - points[1].first).margin(0.11));
    CHECK(points[0].second - points[1].second ==
          Approx(points[1].second - points[2].second).margin(0.11));
    CHECK(points[0].second > points[2].second);  // y runs downwards in SVG
}

TEST_CASE("Points that have no logarithm are left out") {
    const auto points =
        points_of(as_svg(one_curve({{0, 5}, {1, 0}, {2, -1}, {4, NAN}, {8, 3}, {16, 4}}), ""));
    CHECK(points.size() == 2);
}

TEST_CASE("A single point, and none at all, make a picture without infinities") {
    for (const auto& table : {one_curve({{8, 3}}), one_curve({}), one_curve({{0, 1}})}) {
        const std::string svg = as_svg(table, "");
        CHECK(svg.find("nan") == std::string::npos);
        CHECK(svg.find("inf") == std::string::npos);
        CHECK(svg.find("</svg>") != std::string::npos);
    }
    CHECK(as_svg(one_curve({}), "").find("nothing to draw") != std::string::npos);
}
