// Alltoall, dimension by dimension along the group's grid: a block crosses each dimension at most
// once, together with all others that go to the same coordinate.
#pragma once

#include <array>
#include <vector>

#include "collectives/schedule.h"

namespace torusmp::collectives {

class Alltoall final : public Schedule {
  public:
    explicit Alltoall(Group& group) : Schedule(group) {}
    ~Alltoall() = default;

    // Blocks of `block` bytes: the i-th of `out` goes to node i, the i-th of `in` comes from node
    // i. The two do not overlap.
    void start(void* in, const void* out, std::size_t block);

  private:
    bool step() override;
    void post_line();

    std::byte* in_ = nullptr;
    std::size_t block_ = 0;
    int dimension_ = 0;
    Scratch scratch_;
    // Two arrays of blocks by place: an axis whose dimension is done counts sources, one that is
    // not counts destinations. Each line's exchange moves them from one array to the other.
    std::array<std::byte*, 2> blocks_{};
    int current_ = 0;
    std::vector<core::Layout> slabs_;  // by coordinate: the blocks that go there, in this dimension
};

}  // namespace torusmp::collectives
