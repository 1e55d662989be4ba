// SPDX-License-Identifier: BSD-3-Clause
// Maps a logical grid onto a physical torus so that logical neighbours stay physical neighbours.
//
// A program declares its logical grid, with any number of dimensions; the machine has its own
// torus. An Embedding pairs every logical place with one rank, one to one, and reports the
// dilation: the number of physical steps between logical neighbours. 1 means that every neighbour
// is one link away. The map depends only on its arguments, so every rank computes the same map
// independently. An Embedding is an immutable value that owns its tables; any thread may read it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "routing/torus.h"

namespace torusmp::routing {

// Physical distances between logical neighbours. Each pair counts once, including the pair of a
// periodic dimension of extent 2, whose two places are neighbours in both directions; an extent of
// 1 has no pairs.
struct Dilation {
    int maximum = 0;       // 0 without a pair
    double average = 0.0;  // mean over the pairs
    int pairs = 0;
};

class Embedding {
  public:
    // `extents` has one extent per logical dimension, each at least 1, with the product
    // physical.size(); an empty list stands for a single place. `periodic` is empty (all wrap
    // around) or has one flag per dimension. Throws std::invalid_argument with the found and the
    // expected value.
    Embedding(std::span<const int> extents, const std::vector<bool>& periodic,
              const Torus& physical);

    const std::vector<int>& extents() const { return extents_; }
    bool periodic(int dimension) const { return periodic_[std::size_t(dimension)]; }
    const Torus& physical() const { return physical_; }

    // The rank at each logical place; places are numbered row-major with the last dimension
    // fastest.
    const std::vector<Rank>& to_physical() const { return to_physical_; }
    // The inverse map: the logical place of each rank.
    const std::vector<int>& to_logical() const { return to_logical_; }

    const Dilation& dilation() const { return dilation_; }
    const Dilation& dilation(int dimension) const { return by_dimension_[std::size_t(dimension)]; }

    // The embedding in one line, for example "6x8x2x2x2 as 6x8x8: dilation 1".
    std::string describe() const;

  private:
    void measure();

    Torus physical_;
    std::vector<int> extents_;
    std::vector<bool> periodic_;
    std::vector<Rank> to_physical_;
    std::vector<int> to_logical_;
    Dilation dilation_;
    std::vector<Dilation> by_dimension_;
};

}  // namespace torusmp::routing
