// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/comm/creation.h"

#include <algorithm>

#include "mpi11/comm/agreement.h"
#include "mpi11/error/check.h"
#include "mpi11/session/session.h"

namespace torusmp::mpi {
namespace {

// The contribution of each rank to a split. The contexts of the first one serve all colors.
struct Wish {
    int color;
    int key;
    Context contexts;
};

// The machine ranks with this color, by key, then by rank.
std::vector<Rank> those_of_color(const std::vector<Wish>& wishes, const std::vector<Rank>& ranks,
                                 int color) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < wishes.size(); ++i)
        if (wishes[i].color == color) found.push_back(i);
    std::stable_sort(found.begin(), found.end(),
                     [&](std::size_t a, std::size_t b) { return wishes[a].key < wishes[b].key; });
    std::vector<Rank> members;
    for (const std::size_t i : found) members.push_back(ranks[i]);
    return members;
}

std::vector<int> flat(const std::vector<Wish>& wishes) {
    std::vector<int> list;
    for (const Wish& wish : wishes) {
        list.push_back(wish.color);
        list.push_back(wish.key);
    }
    return list;
}

std::vector<Wish> unflat(const std::vector<int>& list) {
    std::vector<Wish> wishes;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2)
        wishes.push_back({list[i], list[i + 1], 0});
    return wishes;
}

// Puts the contexts in front of the list that rank 0 gives, and takes the word of the side that
// counts for both.
Context agree_between(Communicator& inter, BothLists& both, std::vector<int> ours,
                      const char* call) {
    std::optional<Claim> claim;
    if (inter.rank() == 0 && ours_counts(inter)) claim.emplace(inter);
    ours.insert(ours.begin(), claim ? int(claim->use()) : 0);
    both = exchange_lists(inter, std::move(ours), call);
    const auto first = Context(ours_counts(inter) ? both.ours[0] : both.theirs[0]);
    both.ours.erase(both.ours.begin());
    both.theirs.erase(both.theirs.begin());
    return first;
}

Communicator* split_between(Communicator& from, const std::vector<Wish>& wishes, int color,
                            const char* call) {
    BothLists both;
    const Context first = agree_between(from, both, flat(wishes), call);
    if (color == MPI_UNDEFINED) return nullptr;
    auto remote = those_of_color(unflat(both.theirs), from.peers(), color);
    if (remote.empty()) return nullptr;
    return &make_inter(from, those_of_color(wishes, from.members(), color), std::move(remote),
                       first);
}

// Contexts for new communicators of members of an intra-communicator.
Context agree_on_contexts(Communicator& from, const char* call) {
    std::optional<Claim> claim;
    if (from.rank() == 0) claim.emplace(from);
    Context first = claim ? claim->use() : 0;
    broadcast_bytes(from, &first, sizeof first, 0, call);
    return first;
}

Communicator& inherit(Communicator& comm, const Communicator& from) {
    comm.error_handler = from.error_handler;
    comm.session = from.session;
    return comm;
}

}  // namespace

Communicator& make_intra(std::shared_ptr<World> world, std::vector<Rank> members, Context first) {
    return make<Communicator>(std::move(world), std::move(members), first);
}

Communicator& make_inter(std::shared_ptr<World> world, std::vector<Rank> local,
                         std::vector<Rank> remote, Context first) {
    // The local groups have no member in common, so both may use the same numbers.
    return make<Communicator>(std::move(world), std::move(local), first, std::move(remote), first);
}

Communicator& make_intra(const Communicator& from, std::vector<Rank> members, Context first) {
    return inherit(make_intra(from.world(), std::move(members), first), from);
}

Communicator& make_inter(const Communicator& from, std::vector<Rank> local,
                         std::vector<Rank> remote, Context first) {
    return inherit(make_inter(from.world(), std::move(local), std::move(remote), first), from);
}

Communicator& make_alike(Communicator& from, const char* call) {
    if (!from.inter()) return make_intra(from, from.members(), agree_on_contexts(from, call));
    BothLists both;
    const Context first = agree_between(from, both, {}, call);
    return make_inter(from, from.members(), from.peers(), first);
}

Communicator* make_split(Communicator& from, int color, int key, const char* call) {
    std::vector<Wish> wishes(std::size_t(from.size()));
    std::optional<Claim> claim;
    if (from.rank() == 0 && !from.inter()) claim.emplace(from);
    wishes[std::size_t(from.rank())] = {color, key, claim ? claim->use() : 0};
    gather_all(from, wishes.data(), sizeof(Wish), call);
    if (from.inter()) return split_between(from, wishes, color, call);
    if (color == MPI_UNDEFINED) return nullptr;
    return &make_intra(from, those_of_color(wishes, from.members(), color), wishes[0].contexts);
}

Communicator* make_of_group(Communicator& from, const Members& group, const char* call) {
    const bool inside = group.contains(from.runtime().rank());
    if (!from.inter()) {
        const Context first = agree_on_contexts(from, call);
        return inside ? &make_intra(from, group.ranks(), first) : nullptr;
    }
    BothLists both;
    const Context first = agree_between(from, both, group.ranks(), call);
    if (!inside || both.theirs.empty()) return nullptr;
    return &make_inter(from, group.ranks(), both.theirs, first);
}

Communicator* make_by_group(Communicator& from, const Members& group, int tag) {
    const int me = group.index_of(from.runtime().rank());
    if (me < 0) return nullptr;
    std::optional<Claim> claim;
    Context first = 0;
    if (me == 0) first = claim.emplace(from).use();
    hand_down(from.runtime(), group, 0, from.context(Traffic::leaders), tag, &first, sizeof first,
              "MPI_Comm_create_group");
    return &make_intra(from, group.ranks(), first);
}

}  // namespace torusmp::mpi
