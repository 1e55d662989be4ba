// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/apart_blocks.h"

#include <algorithm>

namespace torusmp::collectives {

void ApartBlocks::lay_all_apart(int root, bool from_root, std::size_t window) {
    expect(Fit::at_most);
    begin_blocks();
    const bool at_root = group().member() == root;
    if (!at_root) apart_.members.push_back(root);
    for (int member = 0; at_root && member < group().size(); ++member)
        if (member != root) apart_.members.push_back(member);
    lay_apart(0, std::min(window, apart_.members.size()));
    const bool sends = at_root == from_root;
    use_requests(sends ? apart_.window : 0, sends ? 0 : apart_.window);
}

bool ApartBlocks::take_apart(std::size_t index, int member) {
    const core::Status* status = arrived(index);
    if (status == nullptr) return false;
    if (status->error != core::Error::truncated) return received(index);
    cut_short(member);
    return true;
}

bool ApartBlocks::end_well() {
    if (cut_short_ >= 0) fail(core::Error::truncated, group().rank_of(cut_short_));
    return true;
}

}  // namespace torusmp::collectives
