// SPDX-License-Identifier: BSD-3-Clause
// Records of groups that are closed here and kept for a while, because other members may ask for
// what they hold.
#pragma once

#include <cstddef>
#include <list>
#include <map>

#include "core/request.h"

namespace torusmp::core {

class ClosedGroups {
  public:
    // Keeps the record of this group, and deletes the one that was kept for the longest time if
    // there are too many.
    template <class Record>
    void keep(Context context, std::map<Context, Record>& records) {
        contexts_.push_back(context);
        if (contexts_.size() <= most) return;
        records.erase(contexts_.front());
        contexts_.pop_front();
    }

  private:
    static constexpr std::size_t most = 1024;
    std::list<Context> contexts_;
};

}  // namespace torusmp::core
