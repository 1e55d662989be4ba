// SPDX-License-Identifier: BSD-3-Clause
#include "lattice.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <numeric>

namespace wilson {

namespace {

// Neighbour tables hold 32-bit numbers, and more sites would not fit in the memory of a rank (48
// GiB of links).
constexpr std::int64_t most_local_sites = std::int64_t{1} << 26;

std::int64_t product(const Coord& c) {
    return std::accumulate(c.begin(), c.end(), std::int64_t{1}, std::multiplies<>());
}

bool divides(const Coord& grid, const Coord& extent) {
    for (int mu = 0; mu < 4; ++mu)
        if (extent[mu] % grid[mu] != 0) return false;
    return true;
}

// Sites that one rank sends: both faces of every split dimension.
std::int64_t surface(const Coord& extent, const Coord& grid) {
    std::int64_t local = 1, sum = 0;
    for (int mu = 0; mu < 4; ++mu) local *= extent[mu] / grid[mu];
    for (int mu = 0; mu < 4; ++mu)
        if (grid[mu] > 1) sum += 2 * local / (extent[mu] / grid[mu]);
    return sum;
}

}  // namespace

std::string to_string(const Coord& c) {
    return fmt::format("{}", fmt::join(c, "x"));
}

Coord parse_coord(const char* option, const std::string& text) {
    Coord c{};
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (int mu = 0; mu < 4; ++mu) {
        const auto [next, error] = std::from_chars(at, end, c[mu]);
        const bool good = error == std::errc{} && c[mu] > 0 &&
                          (mu < 3 ? next != end && *next == 'x' : next == end);
        if (!good)
            throw InputError(fmt::format(
                "--{}: found '{}', expected four positive numbers such as 8x8x8x16", option, text));
        at = next + 1;
    }
    return c;
}

void check_layout(const Coord& extent, const Coord& grid, int ranks) {
    std::int64_t local = 1;
    for (int mu = 0; mu < 4; ++mu) {
        const char name = "xyzt"[mu];
        if (extent[mu] < 2 || extent[mu] % 2 != 0)
            throw InputError(
                fmt::format("lattice {}: the extent in {} is {}, but even-odd "
                            "preconditioning needs even extents",
                            to_string(extent), name, extent[mu]));
        if (grid[mu] < 1)
            throw InputError(fmt::format("grid {}: {} ranks in {}, expected at least 1",
                                         to_string(grid), grid[mu], name));
        if (extent[mu] % grid[mu] != 0)
            throw InputError(
                fmt::format("lattice {} on grid {}: {} sites in {} cannot be shared equally "
                            "by {} ranks; choose a grid that divides the lattice",
                            to_string(extent), to_string(grid), extent[mu], name, grid[mu]));
        local *= extent[mu] / grid[mu];
        if (local > most_local_sites)
            throw InputError(
                fmt::format("lattice {} on grid {}: more than {} sites a rank; use more ranks",
                            to_string(extent), to_string(grid), most_local_sites));
    }
    if (product(grid) != ranks)
        throw InputError(
            fmt::format("grid {} is for {} ranks, but {} were started; give a --grid whose "
                        "product is {}",
                        to_string(grid), product(grid), ranks, ranks));
}

Coord best_grid(const Coord& extent, int ranks) {
    Coord best{};
    auto smallest = std::numeric_limits<std::int64_t>::max();
    for (int t = 1; t <= ranks; ++t) {
        if (ranks % t != 0) continue;
        for (int z = 1; z <= ranks / t; ++z) {
            if (ranks / t % z != 0) continue;
            for (int y = 1; y <= ranks / t / z; ++y) {
                if (ranks / t / z % y != 0) continue;
                const Coord grid{ranks / t / z / y, y, z, t};
                // On a tie the later dimensions are split: fewer messages, and long runs of x.
                if (divides(grid, extent) && surface(extent, grid) <= smallest) {
                    smallest = surface(extent, grid);
                    best = grid;
                }
            }
        }
    }
    if (best[0] == 0)
        throw InputError(
            fmt::format("lattice {}: no grid of {} ranks divides it", to_string(extent), ranks));
    return best;
}

Lattice::Lattice(const Coord& extent, const Coord& grid, const Coord& place)
    : extent_(extent), grid_(grid) {
    for (int mu = 0; mu < 4; ++mu) {
        local_[mu] = extent[mu] / grid[mu];
        origin_[mu] = local_[mu] * place[mu];
    }
    number_sites();
    find_neighbours();
}

std::int64_t Lattice::volume() const {
    return product(extent_);
}

std::int64_t Lattice::global_index(int parity, int site) const {
    const Coord& x = coords_[parity][site];
    return ((std::int64_t{x[3]} * extent_[2] + x[2]) * extent_[1] + x[1]) * extent_[0] + x[0];
}

int Lattice::local_index(const Coord& x) const {
    return ((x[3] * local_[2] + x[2]) * local_[1] + x[1]) * local_[0] + x[0];
}

Lattice::Place Lattice::place(const Coord& x) const {
    int parity = 0;
    for (int mu = 0; mu < 4; ++mu) parity += origin_[mu] + x[mu];
    return {parity % 2, site_at_[local_index(x)]};
}

// Calls visit(local coordinate) for every site of a box, x fastest.
template <class Visit>
static void for_each_site(const Coord& box, Visit&& visit) {
    Coord x;
    for (x[3] = 0; x[3] < box[3]; ++x[3])
        for (x[2] = 0; x[2] < box[2]; ++x[2])
            for (x[1] = 0; x[1] < box[1]; ++x[1])
                for (x[0] = 0; x[0] < box[0]; ++x[0]) visit(x);
}

// The order inside a parity is the order in the box, so both sides of a border list the sites of a
// face in the same order.
void Lattice::number_sites() {
    site_at_.resize(static_cast<std::size_t>(product(local_)));
    for_each_site(local_, [&](const Coord& x) {
        Coord global;
        for (int mu = 0; mu < 4; ++mu) global[mu] = origin_[mu] + x[mu];
        const int parity = (global[0] + global[1] + global[2] + global[3]) % 2;
        site_at_[local_index(x)] = sites(parity);
        coords_[parity].push_back(global);
    });
}

void Lattice::find_neighbours() {
    for (int parity : {0, 1}) neighbours_[parity].resize(coords_[parity].size());
    for_each_site(local_, [&](const Coord& x) {
        const auto [parity, site] = place(x);
        bool inside = true;
        for (int direction = 0; direction < 8; ++direction) {
            const int mu = direction / 2;
            const bool is_forward = direction == forward(mu);
            auto& face = faces_[parity][direction];
            const bool leaves = split(mu) && x[mu] == (is_forward ? local_[mu] - 1 : 0);
            if (leaves) {
                neighbours_[parity][site][direction] = ~static_cast<std::int32_t>(face.size());
                face.push_back(site);
                inside = false;
            } else {
                Coord y = x;
                y[mu] = (x[mu] + (is_forward ? 1 : local_[mu] - 1)) % local_[mu];
                neighbours_[parity][site][direction] = site_at_[local_index(y)];
            }
        }
        (inside ? interior_ : boundary_)[parity].push_back(site);
    });
}

}  // namespace wilson
