// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/reduce/reduce.h"

#include "collectives/reduce/by_hosts.h"

namespace torusmp::collectives {

Reduce::Reduce(Group& group) : Collective(group, reduce::algorithms()) {}
Reduce::~Reduce() = default;

void Reduce::start(void* result, const void* values, std::size_t count, const Operation& operation,
                   int root, const AlgorithmRow* algorithm) {
    auto* const own = static_cast<std::byte*>(const_cast<void*>(values));
    const bool elsewhere = group().member() == root && result != nullptr;
    arguments_ = {elsewhere ? static_cast<std::byte*>(result) : own,    own, count, operation, root,
                  operation.commutative ? &group() : &group().ordered()};
    const Call call = call_of(root, arguments_.bytes(), operation);
    if (Hosts* hosts = operation.commutative ? group().hosts() : nullptr)
        return run_over(*hosts, by_hosts_, "reduce", call, algorithm);
    run("reduce", call, conditions_of(group(), arguments_.bytes(), operation), algorithm);
}

}  // namespace torusmp::collectives
