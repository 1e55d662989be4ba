// SPDX-License-Identifier: BSD-3-Clause
#include "core/commons.h"

#include <fmt/format.h>

#include "core/connection/connection.h"

namespace torusmp::core {

std::string Commons::name_of(Rank rank) const {
    return options.name_of ? options.name_of(rank) : fmt::format("rank {}", rank);
}

std::string Commons::name_of(const Connection& connection) const {
    if (!connection.link && connection.interface == nullptr && connection.peer != rank())
        return fmt::format("the connection to {}", name_of(connection.peer));
    if (!connection.link)
        return fmt::format("the {} connection to {}", connection.transport(),
                           name_of(connection.peer));
    return fmt::format("link {}{} to {}", connection.link->dimension,
                       connection.link->sign > 0 ? '+' : '-', name_of(connection.peer));
}

std::string Commons::name_of_source(Rank rank) const {
    return rank == any_source ? std::string("any rank") : name_of(rank);
}

}  // namespace torusmp::core
