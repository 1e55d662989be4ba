// SPDX-License-Identifier: BSD-3-Clause
// Along each line, the last dimension first, to the member at the root's coordinate: the shortest
// sequence of messages. In member order if the operation does not commute.
#include <cstring>

#include "collectives/reduce/reduce.h"

namespace torusmp::collectives::reduce {
namespace {

class Lines final : public AlgorithmOf<Arguments> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        const Group& grid = *call_.grid;
        bytes_ = call_.bytes();
        slot_bytes_ = Scratch::rounded(bytes_);
        std::byte* memory = memory_.reserve(slot_bytes_ * std::size_t(grid.longest() + 1));
        const bool at_root = group().member() == call_.root;
        root_place_ = grid.place_of(call_.root);
        dimension_ = grid.dimensions() - 1;
        gathered_ = false;
        sum_ = at_root ? call_.result : memory + slot_bytes_ * std::size_t(grid.longest());
        own_ = call_.values;
        if (dimension_ < 0 && sum_ != own_ && bytes_ != 0)  // no other member contributes
            std::memcpy(sum_, own_, bytes_);
    }

  private:
    bool step() override {
        const Group& grid = *call_.grid;
        if (gathered_) {
            if (bytes_ != 0)
                fold_line(call_.operation, sum_, own_, grid.coordinate(dimension_),
                          memory_.reserve(0), slot_bytes_, grid.extent(dimension_), call_.count);
            own_ = sum_;
            --dimension_;
            gathered_ = false;
        }
        if (dimension_ < 0) return false;
        const int here = grid.coordinate(dimension_);
        const int target = grid.coordinate(root_place_, dimension_);
        if (here != target) {
            send({own_, bytes_}, grid.line_rank(dimension_, target));
            dimension_ = -1;
            return true;
        }
        std::byte* slots = memory_.reserve(0);
        for (int c = 0; c < grid.extent(dimension_); ++c)
            if (c != here)
                receive({slots + slot_bytes_ * std::size_t(c), bytes_},
                        grid.line_rank(dimension_, c));
        gathered_ = true;
        return true;
    }

    std::byte* sum_ = nullptr;        // the result; scratch memory on the other members
    const std::byte* own_ = nullptr;  // what this member contributes to the current line
    std::size_t bytes_ = 0;
    int root_place_ = 0;
    int dimension_ = 0;      // the current line
    bool gathered_ = false;  // its contributions have arrived
    Scratch memory_;         // one slot per coordinate, and a sum
    std::size_t slot_bytes_ = 0;
};

}  // namespace

extern AlgorithmMaker<Arguments> lines = make_algorithm<Lines>;

}  // namespace torusmp::collectives::reduce
