// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace torusmp::torus_setup {

namespace {

using routing::Coordinates;
using routing::Torus;

class Drawing {
  public:
    Drawing(const Torus& torus, const std::vector<std::string>& hosts)
        : torus_(torus), hosts_(hosts) {
        for (int d = 0; d < torus.dimensions(); ++d)
            if (torus.extent(d) > 1) wide_.push_back(d);
        for (const std::string& host : hosts) width_ = std::max(width_, host.size());
    }

    std::string draw() {
        if (wide_.empty()) return fmt::format("  [{}]\n", hosts_.front());
        Coordinates first{};
        if (wide_.size() == 1) return ring(first);
        planes(first, 0);
        const bool wraps =
            std::any_of(wide_.begin(), wide_.end(), [&](int d) { return torus_.periodic(d); });
        if (wraps)
            out_ += "  A cable that leaves the drawing at one side returns at the opposite side.\n";
        for (std::size_t i = 0; i + 2 < wide_.size(); ++i)
            out_ += fmt::format(
                "  A host has cables to its place in the next drawing along dimension {}.\n",
                wide_[i]);
        return out_;
    }

  private:
    // One line; a ring is closed below it.
    std::string ring(const Coordinates& at) const {
        const std::string line = row(at, wide_.front());
        if (!torus_.periodic(wide_.front())) return "  " + line + "\n";
        return fmt::format("  +--{}--+\n  +{:->{}}+\n", line, "", line.size() + 4);
    }

    std::string row(Coordinates at, int dimension) const {
        std::string line;
        for (int i = 0; i < torus_.extent(dimension); ++i) {
            at[std::size_t(dimension)] = i;
            line += fmt::format("{}[{:^{}}]", i == 0 ? "" : "---", host(at), width_);
        }
        return line;
    }

    // A drawing for each place in the dimensions before the last two.
    void planes(Coordinates at, std::size_t next) {
        if (next + 2 == wide_.size()) return plane(at);
        for (int i = 0; i < torus_.extent(wide_[next]); ++i) {
            at[std::size_t(wide_[next])] = i;
            planes(at, next + 1);
        }
    }

    void plane(Coordinates at) {
        const int down = wide_[wide_.size() - 2], across = wide_.back();
        for (std::size_t i = 0; i + 2 < wide_.size(); ++i)
            out_ += fmt::format("{}{} in dimension {}", i == 0 ? "  Place " : ", ",
                                at[std::size_t(wide_[i])], wide_[i]);
        if (wide_.size() > 2) out_ += ":\n";
        const std::string stub = torus_.periodic(across) ? "--" : "  ";
        std::string bars = "    ";
        for (int i = 0; i < torus_.extent(across); ++i)
            bars += fmt::format("{}{:^{}}", i == 0 ? "" : "   ", "|", width_ + 2);
        bars.erase(bars.find_last_not_of(' ') + 1);
        if (torus_.periodic(down)) out_ += bars + "\n";
        for (int i = 0; i < torus_.extent(down); ++i) {
            at[std::size_t(down)] = i;
            std::string line = "  " + stub + row(at, across) + stub;
            line.erase(line.find_last_not_of(' ') + 1);
            out_ += line + "\n";
            if (torus_.periodic(down) || i + 1 < torus_.extent(down)) out_ += bars + "\n";
        }
    }

    const std::string& host(const Coordinates& at) const {
        return hosts_[std::size_t(torus_.rank(at))];
    }

    const Torus& torus_;
    const std::vector<std::string>& hosts_;
    std::vector<int> wide_;  // dimensions with more than one host
    std::size_t width_ = 0;  // of the longest name
    std::string out_;
};

}  // namespace

namespace {

// Each host with its neighbours: "  [a]---  b, c (2 cables)".
std::string draw_graph(const Torus& torus, const std::vector<std::string>& hosts) {
    std::size_t width = 0;
    for (const std::string& host : hosts) width = std::max(width, host.size());
    std::string out;
    for (int node = 0; node < torus.size(); ++node) {
        std::map<int, int> cables;  // by neighbour
        for (int i = 0; i < 2 * torus.link_dimensions(); ++i)
            if (const auto other = torus.neighbour(node, routing::Direction::from_index(i)))
                ++cables[*other];
        std::vector<std::string> names;
        for (const auto& [other, count] : cables)
            names.push_back(hosts[std::size_t(other)] +
                            (count > 1 ? fmt::format(" ({} cables)", count) : ""));
        out += fmt::format("  [{:^{}}]--- {}\n", hosts[std::size_t(node)], width,
                           fmt::join(names, ", "));
    }
    return out;
}

}  // namespace

std::string draw(const Torus& torus, const std::vector<std::string>& hosts) {
    if (torus.graph()) return draw_graph(torus, hosts);
    return Drawing(torus, hosts).draw();
}

}  // namespace torusmp::torus_setup
