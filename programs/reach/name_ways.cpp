// SPDX-License-Identifier: BSD-3-Clause
#include "programs/reach/name_ways.h"

#include <algorithm>

namespace torusmp::reach {

NameWays::NameWays(int hosts, int start)
    : parents_(std::size_t(hosts), no_parent), reached_{start} {
    find_parents();
}

void NameWays::greeted(int host) {
    if (std::find(reached_.begin(), reached_.end(), host) != reached_.end()) return;
    reached_.push_back(host);
    find_parents();
}

void NameWays::failed(int host) {
    parents_[std::size_t(host)] = no_parent;
    find_parents();
}

std::vector<int> NameWays::lost(int host) {
    std::vector<int> gone{host};
    for (std::size_t i = 0; i < gone.size(); ++i)
        for (int other = 0; other < int(parents_.size()); ++other)
            if (parents_[std::size_t(other)] == gone[i]) gone.push_back(other);
    return gone;
}

std::vector<int> NameWays::unreached() const {
    std::vector<int> hosts;
    for (int host = 0; host < int(parents_.size()); ++host) {
        if (std::find(reached_.begin(), reached_.end(), host) != reached_.end()) continue;
        if (parents_[std::size_t(host)] != no_parent) return {};
        hosts.push_back(host);
    }
    return hosts;
}

void NameWays::find_parents() {
    for (int host = 0; host < int(parents_.size()); ++host) {
        int& parent = parents_[std::size_t(host)];
        if (parent != no_parent || host == reached_.front()) continue;
        const auto found = std::find_if(reached_.rbegin(), reached_.rend(), [&](int candidate) {
            return candidate != host && tried_.insert({candidate, host}).second;
        });
        if (found != reached_.rend()) parent = *found;
    }
}

}  // namespace torusmp::reach
