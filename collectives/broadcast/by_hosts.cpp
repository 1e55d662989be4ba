#include "collectives/broadcast/by_hosts.h"

namespace torusmp::collectives::broadcast {

ByHosts::ByHosts(Group& group, Hosts& hosts)
    : Sequence(group, 3), hosts_(hosts), inside_(hosts.local) {
    nest(inside_, Hosts::broadcast_inside);
    if (hosts.leaders != nullptr)
        nest(leaders_.emplace(*hosts.leaders), Hosts::broadcast_of_leaders);
}

void ByHosts::prepare(void* buffer, std::size_t bytes, int root, const AlgorithmRow* algorithm) {
    buffer_ = buffer;
    bytes_ = bytes;
    root_ = root;
    algorithm_ = algorithm;
    rewind();
    reset("broadcast");
}

Schedule* ByHosts::start_part(int number) {
    const auto root = std::size_t(root_);
    const bool with_root = hosts_.is_here(group(), root_);
    const bool several = hosts_.local.size() > 1;
    if (number == 0 && with_root && several) {
        inside_.start(buffer_, bytes_, hosts_.local_node[root]);
    } else if (number == 1 && leaders_) {
        leaders_->start(buffer_, bytes_, hosts_.host_of_node[root], algorithm_);
        return &*leaders_;
    } else if (number == 2 && !with_root && several) {
        inside_.start(buffer_, bytes_, 0);
    } else {
        return nullptr;
    }
    return &inside_;
}

}  // namespace torusmp::collectives::broadcast
