// SPDX-License-Identifier: BSD-3-Clause
// The lattice as held by one rank: its sites, their parity, and their neighbours.
//
// A Lattice is pure arithmetic and immutable; it does not communicate. Fields are separated by
// parity ((x+y+z+t) mod 2 in global coordinates), so a field on one parity is an array indexed by
// "site" below.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace wilson {

using Coord = std::array<int, 4>;  // x, y, z, t; x is fastest wherever sites are put in a row

// An error in the user's input. The message names what was found, where, and what was expected.
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Directions are numbered 0..7: forward and backward in x, then in y, z and t.
constexpr int forward(int mu) {
    return 2 * mu;
}
constexpr int backward(int mu) {
    return 2 * mu + 1;
}
constexpr int opposite(int direction) {
    return direction ^ 1;
}

std::string to_string(const Coord& c);  // "8x8x8x16"

// The value of an option: four positive numbers. Throws InputError.
Coord parse_coord(const char* option, const std::string& text);

// Throws InputError unless `extent` can be laid out on `grid` with that many ranks.
void check_layout(const Coord& extent, const Coord& grid, int ranks);

// The grid of `ranks` ranks with the smallest surface; throws InputError if none divides the
// lattice.
Coord best_grid(const Coord& extent, int ranks);

class Lattice {
  public:
    // `place` is the coordinate of this rank in `grid`.
    Lattice(const Coord& extent, const Coord& grid, const Coord& place);

    const Coord& extent() const { return extent_; }
    const Coord& grid() const { return grid_; }
    const Coord& local() const { return local_; }
    std::int64_t volume() const;  // sites of the whole lattice
    bool split(int mu) const { return grid_[mu] > 1; }

    int sites(int parity) const { return static_cast<int>(coords_[parity].size()); }
    int local_sites() const { return sites(0) + sites(1); }
    const Coord& global(int parity, int site) const { return coords_[parity][site]; }
    std::int64_t global_index(int parity, int site) const;

    // The place of a site that this rank holds. The argument is the coordinate inside the local
    // box.
    struct Place {
        int parity, site;
    };
    Place place(const Coord& local) const;

    // The neighbour in each direction. n >= 0: a site of the other parity on this rank. n < 0:
    // entry ~n of the halo that comes from that direction.
    using Neighbours = std::array<std::int32_t, 8>;
    const Neighbours& neighbours(int parity, int site) const { return neighbours_[parity][site]; }

    // Sites with all neighbours on this rank, and sites with at least one on another rank.
    std::span<const std::int32_t> interior(int parity) const { return interior_[parity]; }
    std::span<const std::int32_t> boundary(int parity) const { return boundary_[parity]; }

    // Sites whose neighbour in `direction` is on another rank, in the same order on both ranks.
    std::span<const std::int32_t> face(int parity, int direction) const {
        return faces_[parity][direction];
    }

  private:
    int local_index(const Coord& local) const;
    void number_sites();
    void find_neighbours();

    Coord extent_, grid_, local_, origin_;
    std::vector<std::int32_t> site_at_;  // by index in the local box
    std::array<std::vector<Coord>, 2> coords_;
    std::array<std::vector<Neighbours>, 2> neighbours_;
    std::array<std::vector<std::int32_t>, 2> interior_, boundary_;
    std::array<std::array<std::vector<std::int32_t>, 8>, 2> faces_;
};

}  // namespace wilson
