// SPDX-License-Identifier: BSD-3-Clause
// The members of a group: machine ranks in an order, each once, and the algebra of MPI's groups on
// them (MPI-1.1, section 5.3).
//
// An immutable value that owns its tables; any thread may read it. Pure: it does not depend on the
// job.
#pragma once

#include <span>
#include <vector>

#include "routing/torus.h"

namespace torusmp::mpi {

using routing::Rank;

class Members {
  public:
    Members() = default;
    // Precondition: no rank is negative or occurs twice.
    explicit Members(std::vector<Rank> ranks);

    int size() const { return int(ranks_.size()); }
    Rank operator[](int index) const { return ranks_[std::size_t(index)]; }
    const std::vector<Rank>& ranks() const { return ranks_; }
    // The position of a machine rank; -1 if it is not a member. Constant time.
    int index_of(Rank rank) const {
        const long long i = static_cast<long long>(rank) - lowest_;
        return i < 0 || i >= static_cast<long long>(index_.size()) ? -1 : index_[std::size_t(i)];
    }
    bool contains(Rank rank) const { return index_of(rank) >= 0; }

  private:
    std::vector<Rank> ranks_;
    Rank lowest_ = 0;
    std::vector<int> index_;  // by machine rank, from the lowest member to the highest
};

// All of the first, then those of the second that are not in the first.
Members unite(const Members& first, const Members& second);
// The members of the first that are (intersect) or are not (subtract) in the second; in the order
// of the first.
Members intersect(const Members& first, const Members& second);
Members subtract(const Members& first, const Members& second);
// The members at these positions, in this order (include); or all others, in their own order
// (exclude). Precondition: positions of the group, each once.
Members include(const Members& group, std::span<const int> positions);
Members exclude(const Members& group, std::span<const int> positions);

enum class Likeness { same, permuted, different };  // same members and order; same members; neither
Likeness compare(const Members& a, const Members& b);

// The positions of one range, which are first, first + stride, ... up to last. Precondition: stride
// is not 0.
std::vector<int> positions_in_range(int first, int last, int stride);

}  // namespace torusmp::mpi
