// SPDX-License-Identifier: BSD-3-Clause
#include <catch2/catch.hpp>
#include <cmath>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "bench/figures/svg.h"

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
    CHECK(count(svg, "<circle") == 3 + 1);  // and one beside its name
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

namespace {

// The texts that stand below the drawing, or left of it, in the order of the file.
std::vector<std::string> labels_of(const std::string& svg, const std::string& anchor) {
    std::vector<std::string> labels;
    const std::regex text("text-anchor=\"" + anchor + "\" font-size=\"12\">([^<]*)<");
    for (std::sregex_iterator it(svg.begin(), svg.end(), text), end; it != end; ++it)
        labels.push_back((*it)[1].str());
    return labels;
}

}  // namespace

TEST_CASE("Hops stand at equal distances, each with its tick, and latency has a panel of its own") {
    Table table;
    table.key = "hops";
    table.linear = true;
    table.columns = {{"", "half trip", "us", Column::Draw::line, 0},
                     {"", "one way", "MB/s", Column::Draw::line, 1}};
    for (std::size_t hop = 1; hop <= 6; ++hop)
        table.rows.push_back({hop, {{double(10 * hop), 0, {}}, {100, 0, {}}}});
    const std::string svg = as_svg(table, "");
    CHECK(count(svg, "class=\"frame\"") == 2);
    CHECK(svg.find("\u00b5s") != std::string::npos);
    CHECK(labels_of(svg, "middle") == std::vector<std::string>{"1", "2", "3", "4", "5", "6"});
    CHECK(labels_of(svg, "end").front() == "0");
    const auto points = points_of(svg);
    REQUIRE(points.size() == 6);
    for (std::size_t i = 2; i < 6; ++i) {
        CHECK(points[i].first - points[i - 1].first ==
              Approx(points[1].first - points[0].first).margin(0.21));
        CHECK(points[i - 1].second - points[i].second ==
              Approx(points[0].second - points[1].second).margin(0.21));
    }
}

TEST_CASE("The last tick of an axis is labelled") {
    CHECK(labels_of(as_svg(one_curve({{1, 1}, {4 << 20, 1000}}), ""), "middle").back() == "4Mi");
    CHECK(labels_of(as_svg(one_curve({{1, 1}, {8 << 20, 1000}}), ""), "middle").back() == "8Mi");
    const auto up = labels_of(as_svg(one_curve({{1, 1}, {2, 1000}}), ""), "end");
    REQUIRE(!up.empty());
    CHECK(up.front() == "1");
    CHECK(up.back() == "1000");
}

TEST_CASE("Both ends of an axis are labelled where there is room") {
    // Fifteen octaves have a label at every second.
    const auto sizes = labels_of(as_svg(one_curve({{8, 3}, {262144, 4}}), ""), "middle");
    CHECK(sizes.front() == "8");
    CHECK(sizes.at(1) == "16");
    CHECK(sizes.back() == "256Ki");
    // Six decades have one at each, and the ends.
    const auto times = labels_of(as_svg(one_curve({{8, 0.2}, {16, 20000}}), ""), "end");
    CHECK(times.front() == "0.2");
    CHECK(times.at(1) == "1");
    CHECK(times.back() == "20000");
}

TEST_CASE("The last of what is counted is labelled, and no other beside it") {
    Table table = one_curve({{8, 3}, {32768, 4}});
    table.key = "torus";
    const auto ranks = labels_of(as_svg(table, ""), "middle");
    CHECK(ranks.front() == "10");
    CHECK(ranks.back() == "32768");
    CHECK(ranks.at(ranks.size() - 2) == "10000");
    table.rows.back().bytes = 1234567;
    CHECK(labels_of(as_svg(table, ""), "middle").back() == "1M");
}

TEST_CASE("Large numbers at an axis have a letter and no exponent") {
    const std::string svg = as_svg(one_curve({{1, 200000}, {2, 5000000}, {4, 2000000000}}), "");
    CHECK(svg.find(">1M<") != std::string::npos);
    CHECK(svg.find(">1G<") != std::string::npos);
    CHECK(svg.find("e+0") == std::string::npos);
}

TEST_CASE("Sizes beside others are points, and the curve goes through the exact ones") {
    Table table = one_curve({{61, 9}, {64, 1}, {67, 9}, {125, 9}, {128, 2}, {131, 9}});
    for (Row& row : table.rows) row.beside = row.bytes != 64 && row.bytes != 128;
    const std::string svg = as_svg(table, "");
    CHECK(points_of(svg).size() == 2);
    CHECK(count(svg, "r=\"1.5\"") == 4);
}

TEST_CASE("A curve whose samples differ has a band from the least to the greatest") {
    Table table = one_curve({{1, 2}, {2, 4}});
    CHECK(count(as_svg(table, ""), "<polygon") == 0);
    table.rows[0].figures[0].samples = {1, 2, 3};
    CHECK(count(as_svg(table, ""), "<polygon") == 1);
}

TEST_CASE("What a link carries at most is a line across the drawing") {
    Table table = one_curve({{1, 2}, {2, 4}});
    table.levels = {{"wire", "us", 8, 0}, {"of another unit", "MB/s", 1, 0}};
    const std::string svg = as_svg(table, "");
    CHECK(count(svg, " level\"") == 2);  // across, and beside its name
    CHECK(svg.find("another unit") == std::string::npos);
}

TEST_CASE("Pictures follow the reader's choice of light or dark") {
    const std::string svg = as_svg(one_curve({{1, 2}, {2, 4}}), "");
    CHECK(svg.find("prefers-color-scheme:dark") != std::string::npos);
}

TEST_CASE("Rows that are names have a line each, with a dot for each column") {
    Table table;
    table.key = "measure";
    table.columns = {{"", "one", "", Column::Draw::points, 0},
                     {"", "two", "", Column::Draw::points, 1}};
    table.rows = {{0, {{0.5, 0.5, {}}, {NAN, NAN, {}}}, "shm.latency"},
                  {0, {{1.5, 1.5, {}}, {0.2, 0.2, {}}}, "shm.bandwidth"}};
    table.levels = {{"equal", "", 1, 6}};
    const std::string svg = as_svg(table, "");
    CHECK(labels_of(svg, "end") == std::vector<std::string>{"shm.latency", "shm.bandwidth"});
    CHECK(count(svg, "<circle") == 3 + 2);  // and beside the names of the columns
    table.rows.clear();
    CHECK(as_svg(table, "").find("nothing to draw") != std::string::npos);
}
