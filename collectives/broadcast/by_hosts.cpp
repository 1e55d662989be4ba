// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/broadcast/by_hosts.h"

namespace torusmp::collectives::broadcast {

ByHosts::ByHosts(Group& group, Hosts& hosts) : OverHosts(group, hosts), inside_(hosts.local) {
    nest(inside_, Hosts::broadcast_inside);
    if (hosts.leaders != nullptr)
        nest(leaders_.emplace(*hosts.leaders), Hosts::broadcast_of_leaders);
}

Schedule* ByHosts::start_part(int number) {
    const auto root = std::size_t(call_.root);
    const bool with_root = hosts_.is_here(group(), call_.root);
    const bool several = hosts_.local.size() > 1;
    if (number == 0 && with_root && several) {
        inside_.start(call_.buffer, call_.bytes, hosts_.local_member[root]);
    } else if (number == 1 && leaders_) {
        leaders_->start(call_.buffer, call_.bytes, hosts_.host_of_member[root], algorithm_);
        return &*leaders_;
    } else if (number == 2 && !with_root && several) {
        inside_.start(call_.buffer, call_.bytes, 0);
    } else {
        return nullptr;
    }
    return &inside_;
}

}  // namespace torusmp::collectives::broadcast
