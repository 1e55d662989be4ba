// SPDX-License-Identifier: BSD-3-Clause
// A logical grid over the nodes of a communicator: node numbers, coordinates, neighbours.
//
// An immutable value; any thread may read it. Lexicographic with the map's first entry fastest, or
// by a table if the grid was embedded in the machine.
#pragma once

#include <span>
#include <vector>

namespace torusmp::qmp {

class Topology {
  public:
    // Preconditions: dims >= 1; map empty or a permutation of the dimensions; node_at empty, or the
    // node of each lexicographic place, one to one.
    Topology(std::vector<int> dims, std::vector<int> map, int node, std::vector<int> node_at = {});

    int dimensions() const { return int(dims_.size()); }
    const std::vector<int>& dims() const { return dims_; }
    const std::vector<int>& map() const { return map_; }
    int size() const { return size_; }
    // This node's coordinates.
    const std::vector<int>& coordinates() const { return coordinates_; }

    // Precondition: 0 <= node < size(). Fills dimensions() entries.
    void coordinates_of(int node, int* coordinates) const;
    bool inside(const int* coordinates) const;
    // Precondition: inside(coordinates).
    int node_of(const int* coordinates) const;
    // The next node up (or down) one dimension, with wraparound.
    int neighbour(int dimension, bool up) const;

  private:
    int fast(std::size_t i) const { return map_.empty() ? int(i) : map_[i]; }

    std::vector<int> dims_;
    std::vector<int> map_;
    int size_ = 1;
    std::vector<int> node_at_;
    std::vector<int> place_of_;
    std::vector<int> coordinates_;
};

}  // namespace torusmp::qmp
