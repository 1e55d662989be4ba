// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/allreduce/allreduce.h"

#include "collectives/allreduce/by_hosts.h"

namespace torusmp::collectives {

Allreduce::Allreduce(Group& group) : Collective(group, allreduce::algorithms()) {}
Allreduce::~Allreduce() = default;

void Allreduce::start(void* result, const void* values, std::size_t count,
                      const Operation& operation, const AlgorithmRow* algorithm) {
    arguments_ = {static_cast<std::byte*>(result), static_cast<const std::byte*>(values), count,
                  operation, operation.commutative ? &group() : &group().ordered()};
    const bool barrier = operation.combine == nullptr;
    const std::string_view name = barrier ? "barrier" : "allreduce";
    const Call call = barrier ? Call{} : call_of(-1, arguments_.bytes(), operation);
    if (Hosts* hosts = operation.commutative ? group().hosts() : nullptr)
        return run_over(*hosts, by_hosts_, name, call, algorithm);
    run(name, call, conditions_of(group(), arguments_.bytes(), operation), algorithm);
}

void Allreduce::start_barrier() {
    start(nullptr, 0, Operation{});
}

}  // namespace torusmp::collectives
