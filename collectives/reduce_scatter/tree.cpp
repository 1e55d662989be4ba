// SPDX-License-Identifier: BSD-3-Clause
// Combines all contributions at member 0 along a tree, in member order, and sends the blocks from
// there: fewest messages.
#include <algorithm>
#include <cstring>

#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives::reduce_scatter {
namespace {

class Tree final : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        sums_ = memory_.reserve(call_.bytes);
        if (call_.bytes > 0) std::memcpy(sums_, call_.values, call_.bytes);
        dealt_ = false;
        reach_ = 1;
        subtrees_ = 0;
    }

  private:
    bool step() override {
        if (call_.bytes == 0) return false;
        const int member = group().member();
        const std::size_t own = call_.sizes[std::size_t(member)];
        if (dealt_) {
            if (member == 0 && own > 0) std::memcpy(call_.result, sums_, own);
            return false;
        }
        add_subtrees();
        if (post_subtrees()) return true;
        // The root's own block of the result comes last, after the last use of `values`.
        dealt_ = true;
        if (member == 0) {
            for (std::size_t to = 1; to < std::size_t(group().size()); ++to)
                if (call_.sizes[to] > 0)
                    send({sums_ + call_.offsets[to], call_.sizes[to]}, group().rank_of(int(to)));
        } else {
            if (own > 0) receive({call_.result, own}, group().rank_of(0));
            send({sums_, call_.bytes}, group().rank_of(member - member % (reach_ * arity())));
        }
        return true;
    }

    // The number of partial sums that are combined in one step.
    int arity() const {
        const bool oversubscribed = group().runtime().options().oversubscribed && group().direct();
        return oversubscribed ? std::max(2, group().size()) : 2;
    }

    // Receives the sums of the next members, each of which covers as many members as this one's
    // sums. Returns false after the last one.
    bool post_subtrees() {
        const int member = group().member();
        if (reach_ >= group().size() || member % (reach_ * arity()) != 0) return false;
        std::byte* slot = slots_ = slots_memory_.reserve(call_.bytes * std::size_t(arity() - 1));
        subtrees_ = 0;
        for (int k = 1; k < arity() && member + k * reach_ < group().size(); ++k, ++subtrees_) {
            receive({slot, call_.bytes}, group().rank_of(member + k * reach_));
            slot += call_.bytes;
        }
        reach_ *= arity();
        return true;
    }

    void add_subtrees() {
        const Operation& operation = call_.operation;
        for (int k = 0; k < subtrees_; ++k)
            operation.combine(sums_, sums_, slots_ + call_.bytes * std::size_t(k),
                              call_.bytes / operation.element, operation.closure);
        subtrees_ = 0;
    }

    Scratch memory_;
    std::byte* sums_ = nullptr;  // the blocks of all members: own values, then partial sums
    Scratch slots_memory_;
    std::byte* slots_ = nullptr;
    bool dealt_ = false;
    int reach_ = 1;     // number of members that the own sums cover
    int subtrees_ = 0;  // number of further sums in the slots
};

}  // namespace

extern AlgorithmMaker<Arguments> tree = make_algorithm<Tree>;

}  // namespace torusmp::collectives::reduce_scatter
