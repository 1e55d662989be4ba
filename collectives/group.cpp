#include "collectives/group.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

namespace torusmp::collectives {
namespace {

// The extents of the box that the members fill; empty when they fill none.
std::vector<int> box_of(const routing::Torus& torus, const std::vector<Rank>& members) {
    std::vector<int> dims;
    std::size_t product = 1;
    for (int d = 0; d < torus.dimensions(); ++d) {
        std::set<int> values;
        for (const Rank rank : members) values.insert(torus.coordinates(rank)[std::size_t(d)]);
        dims.push_back(int(values.size()));
        product *= values.size();
    }
    if (product != members.size()) dims.clear();
    return dims;
}

}  // namespace

Group::Group(core::Runtime& runtime, std::vector<Rank> members, core::Context context)
    : runtime_(&runtime), context_(context), members_(std::move(members)) {
    node_at_.resize(members_.size());
    std::iota(node_at_.begin(), node_at_.end(), 0);
    // Ranks are row-major over the torus, so members in rank order are row-major over their box.
    std::sort(node_at_.begin(), node_at_.end(),
              [&](int a, int b) { return members_[std::size_t(a)] < members_[std::size_t(b)]; });
    place_of_.resize(members_.size());
    for (int place = 0; place < size(); ++place) {
        const int node = node_at_[std::size_t(place)];
        place_of_[std::size_t(node)] = place;
        if (members_[std::size_t(node)] == runtime.rank()) {
            node_ = node;
            place_ = place;
        }
        if (place > 0 && rank_of(node) == rank_of(node_at_[std::size_t(place - 1)]))
            throw std::invalid_argument("a group names rank " + std::to_string(rank_of(node)) +
                                        " twice");
    }
    if (node_ < 0)
        throw std::invalid_argument("rank " + std::to_string(runtime.rank()) +
                                    " is not a member of its own group");
    find_grid();

    std::vector<Rank> near = runtime.options().direct;
    std::sort(near.begin(), near.end());
    direct_ = std::all_of(members_.begin(), members_.end(), [&](Rank rank) {
        return rank == runtime.rank() || std::binary_search(near.begin(), near.end(), rank);
    });
}

void Group::find_grid() {
    std::vector<int> dims = box_of(runtime_->torus(), members_);
    if (dims.empty()) dims = routing::balanced_dims(size(), 3);
    std::copy_if(dims.begin(), dims.end(), std::back_inserter(dims_), [](int n) { return n > 1; });
    strides_.resize(dims_.size());
    int stride = 1;
    for (std::size_t d = dims_.size(); d-- > 0; stride *= dims_[d]) strides_[d] = stride;
}

}  // namespace torusmp::collectives
