// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allreduce/by_hosts.h"

namespace torusmp::collectives::allreduce {

ByHosts::ByHosts(Group& group, Hosts& hosts)
    : OverHosts(group, hosts), to_leader_(hosts.local), from_leader_(hosts.local) {
    nest(to_leader_, Hosts::reduce_inside);
    nest(from_leader_, Hosts::broadcast_inside);
    if (hosts.leaders != nullptr)
        nest(leaders_.emplace(*hosts.leaders), Hosts::allreduce_of_leaders);
}

Schedule* ByHosts::start_part(int number) {
    if (number == 0) {
        to_leader_.start(call_.result, call_.values, call_.count, call_.operation, 0);
        return &to_leader_;
    }
    if (number == 1 && leaders_) {
        leaders_->start(call_.result, call_.count, call_.operation, algorithm_);
        return &*leaders_;
    }
    if (number == 2) {
        from_leader_.start(call_.result, call_.bytes(), 0);
        return &from_leader_;
    }
    return nullptr;
}

}  // namespace torusmp::collectives::allreduce
