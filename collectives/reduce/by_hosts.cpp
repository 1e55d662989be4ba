#include "collectives/reduce/by_hosts.h"

namespace torusmp::collectives::reduce {

ByHosts::ByHosts(Group& group, Hosts& hosts)
    : Sequence(group, 3), hosts_(hosts), inside_(hosts.local) {
    nest(inside_, Hosts::reduce_inside);
    if (hosts.leaders != nullptr) nest(leaders_.emplace(*hosts.leaders), Hosts::reduce_of_leaders);
}

void ByHosts::prepare(const Arguments& arguments, const AlgorithmRow* algorithm) {
    arguments_ = arguments;
    algorithm_ = algorithm;
    use_requests(1, 1);
    rewind();
    reset("reduce");
}

bool ByHosts::move() {
    return Sequence::move() && sent(0) && received(0);
}

Schedule* ByHosts::start_part(int number) {
    const auto root = std::size_t(arguments_.root);
    const bool at_root = group().node() == arguments_.root;
    const std::size_t bytes = arguments_.bytes();
    std::byte* sum = at_root ? arguments_.result : sum_.reserve(bytes);
    if (number == 0) {
        inside_.start(sum, arguments_.values, arguments_.count, arguments_.operation, 0);
        return &inside_;
    }
    if (number == 1 && leaders_) {
        leaders_->start(sum, sum, arguments_.count, arguments_.operation, hosts_.host_of_node[root],
                        algorithm_);
        return &*leaders_;
    }
    if (number == 2 && hosts_.is_here(group(), arguments_.root) && hosts_.local_node[root] != 0) {
        const core::Buffer buffer{sum, bytes};
        if (leaders_) send(0, buffer, group().rank_of(arguments_.root));
        if (at_root) receive(0, buffer, hosts_.local.rank_of(0));
    }
    return nullptr;
}

}  // namespace torusmp::collectives::reduce
