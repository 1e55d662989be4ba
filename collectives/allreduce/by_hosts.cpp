#include "collectives/allreduce/by_hosts.h"

namespace torusmp::collectives::allreduce {

ByHosts::ByHosts(Group& group, Hosts& hosts)
    : Sequence(group, 3), to_leader_(hosts.local), from_leader_(hosts.local) {
    nest(to_leader_, Hosts::reduce_inside);
    nest(from_leader_, Hosts::broadcast_inside);
    if (hosts.leaders != nullptr)
        nest(leaders_.emplace(*hosts.leaders), Hosts::allreduce_of_leaders);
}

void ByHosts::prepare(const Arguments& arguments, const AlgorithmRow* algorithm) {
    arguments_ = arguments;
    algorithm_ = algorithm;
    rewind();
    reset("allreduce");
}

Schedule* ByHosts::start_part(int number) {
    const auto& [buffer, count, operation, grid] = arguments_;
    if (number == 0) {
        to_leader_.start(buffer, buffer, count, operation, 0);
        return &to_leader_;
    }
    if (number == 1 && leaders_) {
        leaders_->start(buffer, count, operation, algorithm_);
        return &*leaders_;
    }
    if (number == 2) {
        from_leader_.start(buffer, arguments_.bytes(), 0);
        return &from_leader_;
    }
    return nullptr;
}

}  // namespace torusmp::collectives::allreduce
