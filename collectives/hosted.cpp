#include "collectives/hosted.h"

namespace torusmp::collectives {

Hosted::Hosted(Group& group, Hosts& hosts)
    : Sequence(group, 3), hosts_(hosts), local_broadcast_(hosts.local), local_reduce_(hosts.local) {
    nest(local_broadcast_, 1);
    nest(local_reduce_, 2);
    if (hosts.leaders == nullptr) return;
    nest(leaders_broadcast_.emplace(*hosts.leaders), 3);
    nest(leaders_reduce_.emplace(*hosts.leaders), 4);
    nest(leaders_allreduce_.emplace(*hosts.leaders), 5);
}

void Hosted::prepare_broadcast(void* buffer, std::size_t bytes, int root, BroadcastForm form) {
    buffer_ = static_cast<std::byte*>(buffer);
    count_ = bytes;
    root_ = root;
    broadcast_form_ = form;
    prepare(What::broadcast, "broadcast");
}

void Hosted::prepare_reduce(void* result, const void* values, std::size_t count,
                            const Operation& operation, int root, RootedForm form) {
    buffer_ = static_cast<std::byte*>(result);
    values_ = values;
    count_ = count;
    operation_ = operation;
    root_ = root;
    reduce_form_ = form;
    use_requests(1, 1);
    prepare(What::reduce, "reduce");
}

void Hosted::prepare_allreduce(void* buffer, std::size_t count, const Operation& operation,
                               ReduceForm form) {
    buffer_ = static_cast<std::byte*>(buffer);
    count_ = count;
    operation_ = operation;
    allreduce_form_ = form;
    prepare(What::allreduce, "allreduce");
}

void Hosted::prepare(What what, std::string_view name) {
    what_ = what;
    rewind();
    reset(name);
}

bool Hosted::move() {
    return Sequence::move() && (what_ != What::reduce || (sent(0) && received(0)));
}

Schedule* Hosted::start_part(int number) {
    if (what_ == What::broadcast) return part_of_broadcast(number);
    return what_ == What::reduce ? part_of_reduce(number) : part_of_allreduce(number);
}

// Inside the root's host from the root; from its leader to the others; inside the other hosts.
Schedule* Hosted::part_of_broadcast(int number) {
    const auto root = std::size_t(root_);
    const bool with_root =
        hosts_.host_of_node[root] == hosts_.host_of_node[std::size_t(group().node())];
    const bool local = hosts_.local.size() > 1;
    if (number == 0 && with_root && local)
        local_broadcast_.start(buffer_, count_, hosts_.local_node[root]);
    else if (number == 1 && leaders_broadcast_) {
        leaders_broadcast_->start(buffer_, count_, hosts_.host_of_node[root], broadcast_form_);
        return &*leaders_broadcast_;
    } else if (number == 2 && !with_root && local)
        local_broadcast_.start(buffer_, count_, 0);
    else
        return nullptr;
    return &local_broadcast_;
}

// Inside each host to its leader; from these to the root's leader; from it to the root.
Schedule* Hosted::part_of_reduce(int number) {
    const auto root = std::size_t(root_);
    const bool at_root = group().node() == root_;
    const bool with_root =
        hosts_.host_of_node[root] == hosts_.host_of_node[std::size_t(group().node())];
    const bool leader = leaders_reduce_.has_value();
    std::byte* sum = at_root ? buffer_ : sum_.reserve(count_ * operation_.element);
    if (number == 0) {
        local_reduce_.start(sum, values_, count_, operation_, 0);
        return &local_reduce_;
    }
    if (number == 1 && leader) {
        leaders_reduce_->start(sum, sum, count_, operation_, hosts_.host_of_node[root],
                               reduce_form_);
        return &*leaders_reduce_;
    }
    if (number == 2 && with_root && hosts_.local_node[root] != 0) {
        const core::Buffer buffer{sum, count_ * operation_.element};
        if (leader) send(0, buffer, group().rank_of(root_));
        if (at_root) receive(0, buffer, hosts_.local.rank_of(0));
    }
    return nullptr;
}

// Inside each host to its leader; among the leaders; inside each host from its leader.
Schedule* Hosted::part_of_allreduce(int number) {
    if (number == 0) {
        local_reduce_.start(buffer_, buffer_, count_, operation_, 0);
        return &local_reduce_;
    }
    if (number == 1 && leaders_allreduce_) {
        leaders_allreduce_->start(buffer_, count_, operation_, allreduce_form_);
        return &*leaders_allreduce_;
    }
    if (number == 2) {
        local_broadcast_.start(buffer_, count_ * operation_.element, 0);
        return &local_broadcast_;
    }
    return nullptr;
}

}  // namespace torusmp::collectives
