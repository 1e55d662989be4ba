// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <regex>
#include <stdexcept>

#include "bench/report/run.h"

namespace torusmp::bench {

Table wilson_table(int ranks, const std::vector<std::string>& texts) {
    static const std::regex times(R"(([0-9.]+) us an iteration, ([0-9.]+) % of it)");
    static const std::regex speed(R"(Gflop/s, ([0-9.]+) a rank)");
    std::vector<std::vector<double>> samples(3);
    for (const std::string& text : texts) {
        std::smatch time, flops;
        if (!std::regex_search(text, time, times) || !std::regex_search(text, flops, speed))
            throw std::runtime_error("wilson printed no times: expected \"us an iteration\"");
        samples[0].push_back(std::stod(time[1]));
        samples[1].push_back(std::stod(time[2]));
        samples[2].push_back(std::stod(flops[1]));
    }
    Table table;
    table.key = "ranks";
    table.title = "An iteration of the conjugate gradient of examples/wilson";
    table.y_label = "an iteration, us";
    table.columns = {{"", "iteration", "us", Column::Draw::line, 0},
                     {"", "communication", "%", Column::Draw::no, 0},
                     {"", "a rank", "Gflop/s", Column::Draw::no, 0}};
    Row row{std::size_t(ranks), {}};
    for (std::size_t i = 0; i < samples.size(); ++i) {
        std::vector<double> sorted = samples[i];
        std::sort(sorted.begin(), sorted.end());
        row.figures.push_back(
            {sorted[sorted.size() / 2], i < 2 ? sorted.front() : sorted.back(), samples[i]});
    }
    table.rows.push_back(std::move(row));
    return table;
}

}  // namespace torusmp::bench
