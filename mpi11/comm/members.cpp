// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/members.h"

#include <algorithm>

namespace torusmp::mpi {
namespace {

template <class Keep>
std::vector<Rank> those(const Members& group, Keep&& keep) {
    std::vector<Rank> ranks;
    for (const Rank rank : group.ranks())
        if (keep(rank)) ranks.push_back(rank);
    return ranks;
}

}  // namespace

Members::Members(std::vector<Rank> ranks) : ranks_(std::move(ranks)) {
    if (ranks_.empty()) return;
    const auto [lowest, highest] = std::minmax_element(ranks_.begin(), ranks_.end());
    lowest_ = *lowest;
    index_.assign(std::size_t(*highest - *lowest) + 1, -1);
    for (int i = 0; i < size(); ++i) index_[std::size_t((*this)[i] - lowest_)] = i;
}

Members unite(const Members& first, const Members& second) {
    std::vector<Rank> ranks = first.ranks();
    for (const Rank rank : second.ranks())
        if (!first.contains(rank)) ranks.push_back(rank);
    return Members(std::move(ranks));
}

Members intersect(const Members& first, const Members& second) {
    return Members(those(first, [&](Rank rank) { return second.contains(rank); }));
}

Members subtract(const Members& first, const Members& second) {
    return Members(those(first, [&](Rank rank) { return !second.contains(rank); }));
}

Members include(const Members& group, std::span<const int> positions) {
    std::vector<Rank> ranks;
    ranks.reserve(positions.size());
    for (const int position : positions) ranks.push_back(group[position]);
    return Members(std::move(ranks));
}

Members exclude(const Members& group, std::span<const int> positions) {
    return subtract(group, include(group, positions));
}

Likeness compare(const Members& a, const Members& b) {
    if (a.ranks() == b.ranks()) return Likeness::same;
    if (a.size() != b.size()) return Likeness::different;
    const bool all = std::all_of(a.ranks().begin(), a.ranks().end(),
                                 [&](Rank rank) { return b.contains(rank); });
    return all ? Likeness::permuted : Likeness::different;
}

std::vector<int> positions_in_range(int first, int last, int stride) {
    std::vector<int> positions;
    for (long long position = first; stride > 0 ? position <= last : position >= last;
         position += stride)
        positions.push_back(int(position));
    return positions;
}

}  // namespace torusmp::mpi
