// SPDX-License-Identifier: BSD-3-Clause
// Tags for the pieces of all partitioned messages that this process sends in a job, in a context that
// it has claimed. Any thread may call.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/api.h"

namespace torusmp::mpi {

class World;

class TagRanges {
  public:
    explicit TagRanges(World& world) : world_(world) {}

    core::Context context();
    // The first of `count` tags. Throws Failure if there are no more. A range is used again for
    // messages of as many pieces.
    core::Tag take(int count);
    void give(core::Tag first, int count);

  private:
    World& world_;
    std::mutex mutex_;
    std::optional<core::Context> context_;
    core::Tag next_ = 0;
    std::map<int, std::vector<core::Tag>> returned_;
};

}  // namespace torusmp::mpi
