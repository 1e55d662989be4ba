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
        // A member that adds nothing sends its values from where they are. (A copy would be in its
        // cache, from where the receiver has it slowly.)
        adds_ = at_root || grid.coordinate(dimension_) == grid.coordinate(root_place_, dimension_);
        if (adds_ && sum_ != call_.values && bytes_ != 0) std::memcpy(sum_, call_.values, bytes_);
    }

  private:
    bool step() override {
        const Group& grid = *call_.grid;
        if (gathered_) {
            if (bytes_ != 0)
                fold_line(call_.operation, sum_, grid.coordinate(dimension_), memory_.reserve(0),
                          slot_bytes_, grid.extent(dimension_), call_.count);
            --dimension_;
            gathered_ = false;
        }
        if (dimension_ < 0) return false;
        const int here = grid.coordinate(dimension_);
        const int target = grid.coordinate(root_place_, dimension_);
        if (here != target) {
            const std::byte* const sum = adds_ ? sum_ : call_.values;
            send({sum, bytes_}, grid.line_rank(dimension_, target));
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

    bool adds_ = false;  // this member receives contributions of others
    std::byte* sum_ = nullptr;  // the result; scratch memory on the other members
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
