// SPDX-License-Identifier: BSD-3-Clause
// Every member receives its block from all others and combines them in member order.
#include <algorithm>
#include <cstring>

#include "collectives/reduce_scatter/reduce_scatter.h"

namespace torusmp::collectives::reduce_scatter {
namespace {

// Messages in flight, per direction.
constexpr int step_window = 8;

class Ordered final : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        own_ = call_.sizes[std::size_t(group().member())];
        slots_ = memory_.reserve(own_ * std::size_t(group().size()));
        posted_ = 0;
    }

  private:
    bool step() override {
        if (posted_ + 1 < group().size()) {
            post();
            return true;
        }
        if (own_ == 0) return false;
        const int member = group().member();
        const Operation& operation = call_.operation;
        std::memcpy(slot(member), call_.values + call_.offsets[std::size_t(member)], own_);
        for (int from = 1; from < group().size(); ++from)
            operation.combine(slot(0), slot(0), slot(from), own_ / operation.element,
                              operation.closure);
        std::memcpy(call_.result, slot(0), own_);
        return false;
    }

    void post() {
        const int size = group().size();
        const int member = group().member();
        const int end = std::min(size, posted_ + 1 + step_window);
        for (int k = posted_ + 1; k < end; ++k) {
            const int from = (member + size - k) % size;
            if (own_ > 0) receive({slot(from), own_}, group().rank_of(from));
        }
        for (int k = posted_ + 1; k < end; ++k) {
            const auto to = std::size_t((member + k) % size);
            const core::Buffer block{call_.values + call_.offsets[to], call_.sizes[to]};
            if (block.bytes > 0) send(block, group().rank_of(int(to)));
        }
        posted_ = end - 1;
    }
    std::byte* slot(int member) const { return slots_ + own_ * std::size_t(member); }

    Scratch memory_;
    std::byte* slots_ = nullptr;
    std::size_t own_ = 0;  // bytes of own block
    int posted_ = 0;       // messages, per direction
};

}  // namespace

extern AlgorithmMaker<Arguments> ordered = make_algorithm<Ordered>;

}  // namespace torusmp::collectives::reduce_scatter
