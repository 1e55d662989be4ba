// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of Cartesian topologies: ranks are row-major, the last dimension fastest (MPI-1.1,
// section 6.4). A grid of no dimensions is a single point.
//
// An immutable value; any thread may read it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace torusmp::mpi {

class CartesianGrid {
  public:
    // One flag for each extent; extents are at least 1 and their product is an int.
    CartesianGrid(std::vector<int> extents, std::vector<bool> periodic);

    int dimensions() const { return int(extents_.size()); }
    int extent(int dimension) const { return extents_[std::size_t(dimension)]; }
    bool periodic(int dimension) const { return periodic_[std::size_t(dimension)]; }
    const std::vector<int>& extents() const { return extents_; }
    const std::vector<bool>& periods() const { return periodic_; }
    int size() const { return size_; }

    // Precondition: 0 <= rank < size().
    int coordinate(int rank, int dimension) const {
        return rank / strides_[std::size_t(dimension)] % extent(dimension);
    }
    // Coordinates beyond a periodic dimension wrap around; empty if one lies outside an open
    // dimension. Precondition: one for each dimension.
    std::optional<int> rank(std::span<const int> coordinates) const;
    // The rank this many steps along a dimension; empty beyond the edge.
    std::optional<int> step(int rank, int dimension, std::int64_t steps) const;

    // The part that contains a rank when only some dimensions are kept.
    struct Part {
        std::vector<int> extents;
        std::vector<bool> periodic;
        int color = 0;  // distinguishes the parts
        int rank = 0;   // in the part
    };
    Part part(int rank, const std::vector<bool>& kept) const;

  private:
    std::vector<int> extents_;
    std::vector<bool> periodic_;
    std::vector<int> strides_;
    int size_ = 1;
};

// MPI_Dims_create: fills the zeros of `dims` so that the product is `nodes`, as evenly as possible
// and not increasing. Among equally even fillings, the machine's own extents win. Returns false if
// there is none. Precondition: nodes is at least 1, dims are at least 0.
bool fill_dims(int nodes, std::span<int> dims, std::span<const int> machine);

}  // namespace torusmp::mpi
