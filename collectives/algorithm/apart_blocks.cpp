#include "collectives/algorithm/apart_blocks.h"

namespace torusmp::collectives {

void ApartBlocks::add_all_others() {
    for (int node = 0; node < group().size(); ++node)
        if (node != group().node()) apart_.nodes.push_back(node);
}

bool ApartBlocks::take_apart(std::size_t index, int node) {
    const core::Status* status = arrived(index);
    if (status == nullptr) return false;
    if (status->error != core::Error::truncated) return received(index);
    cut_short(node);
    return true;
}

bool ApartBlocks::end_well() {
    if (cut_short_ >= 0) fail(core::Error::truncated, group().rank_of(cut_short_));
    return true;
}

}  // namespace torusmp::collectives
