// SPDX-License-Identifier: BSD-3-Clause
// Settings of verbs.
#pragma once

#include "config/setting.h"
#include "config/types.h"

namespace torusmp::transport::verbs::setting {

using namespace config::literals;

inline const config::Setting<int> gid_index{
    "verbs.gid_index",
    config::integer_or_auto(0, 255),
    config::auto_number,
    "Index in the GID table of each RDMA port. The entry must be a RoCE v2 GID. auto: the entry "
    "of the link's address.",
    {.example = "1"}};
inline const config::Setting<std::size_t> cache{
    "verbs.cache", config::size_between({0, "none"}, 1_TiB), 1_GiB,
    "Amount of the program's memory that stays registered with RDMA devices after a message, so "
    "that later messages need not register it again. It counts towards the limit of locked "
    "memory."};

inline const config::Table table{&gid_index, &cache};

}  // namespace torusmp::transport::verbs::setting
