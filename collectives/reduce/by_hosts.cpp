// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce/by_hosts.h"

namespace torusmp::collectives::reduce {

ByHosts::ByHosts(Group& group, Hosts& hosts) : OverHosts(group, hosts), inside_(hosts.local) {
    nest(inside_, Hosts::reduce_inside);
    if (hosts.leaders != nullptr) nest(leaders_.emplace(*hosts.leaders), Hosts::reduce_of_leaders);
}

bool ByHosts::move() {
    return Sequence::move() && sent(0) && received(0);
}

Schedule* ByHosts::start_part(int number) {
    const auto root = std::size_t(call_.root);
    const bool at_root = group().member() == call_.root;
    std::byte* sum = at_root ? call_.result : sum_.reserve(call_.bytes());
    if (number == 0) {
        use_requests(1, 1);
        inside_.start(sum, call_.values, call_.count, call_.operation, 0);
        return &inside_;
    }
    if (number == 1 && leaders_) {
        leaders_->start(sum, sum, call_.count, call_.operation, hosts_.host_of_member[root],
                        algorithm_);
        return &*leaders_;
    }
    if (number == 2 && hosts_.is_here(group(), call_.root) && hosts_.local_member[root] != 0) {
        const core::Buffer buffer{sum, call_.bytes()};
        if (leaders_) send(0, buffer, group().rank_of(call_.root));
        if (at_root) receive(0, buffer, hosts_.local.rank_of(0));
    }
    return nullptr;
}

}  // namespace torusmp::collectives::reduce
