// SPDX-License-Identifier: BSD-3-Clause
#include "qmp/topology.h"

namespace torusmp::qmp {

Topology::Topology(std::vector<int> dims, std::vector<int> map, int node, std::vector<int> node_at)
    : dims_(std::move(dims)), map_(std::move(map)), node_at_(std::move(node_at)) {
    for (const int extent : dims_) size_ *= extent;
    place_of_.resize(node_at_.size());
    for (std::size_t place = 0; place < node_at_.size(); ++place)
        place_of_[std::size_t(node_at_[place])] = int(place);
    coordinates_.resize(dims_.size());
    coordinates_of(node, coordinates_.data());
}

void Topology::coordinates_of(int node, int* coordinates) const {
    int rest = place_of_.empty() ? node : place_of_[std::size_t(node)];
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        const int d = fast(i);
        coordinates[d] = rest % dims_[std::size_t(d)];
        rest /= dims_[std::size_t(d)];
    }
}

bool Topology::inside(const int* coordinates) const {
    for (std::size_t d = 0; d < dims_.size(); ++d)
        if (coordinates[d] < 0 || coordinates[d] >= dims_[d]) return false;
    return true;
}

int Topology::node_of(const int* coordinates) const {
    int place = 0;
    for (std::size_t i = dims_.size(); i-- > 0;) {
        const int d = fast(i);
        place = place * dims_[std::size_t(d)] + coordinates[d];
    }
    return node_at_.empty() ? place : node_at_[std::size_t(place)];
}

int Topology::neighbour(int dimension, bool up) const {
    std::vector<int> there = coordinates_;
    const int extent = dims_[std::size_t(dimension)];
    int& c = there[std::size_t(dimension)];
    c = (c + (up ? 1 : extent - 1)) % extent;
    return node_of(there.data());
}

}  // namespace torusmp::qmp
