// SPDX-License-Identifier: BSD-3-Clause
// Settings of verbs; some are codes as InfiniBand defines them.
#pragma once

#include "config/setting.h"
#include "config/types.h"

namespace torusmp::transport::verbs::setting {

using namespace config::literals;

inline const config::Setting<int> gid_index{
    "verbs.gid_index",
    config::integer_or_auto(0, 255),
    config::auto_number,
    "Which entry of the GID table of each RDMA port is used. It must be one of RoCE v2. auto: the "
    "one of the address of the link.",
    {.example = "1"}};
inline const config::Setting<int> ack_timeout{
    "verbs.ack_timeout",
    config::integer_or_auto({0, "never"}, 31),
    config::auto_number,
    "How long a queue pair waits for an acknowledgement before it sends again: 4.096 us x 2^n. "
    "auto: so that transport.timeout and verbs.retries go together.",
    {.example = "18"}};
inline const config::Setting<int> retries{"verbs.retries", config::integer_between(0, 7), 6,
                                          "How often a queue pair sends again what is not "
                                          "acknowledged before the link is dead. Soft-RoCE "
                                          "takes 7 for without end."};
inline const config::Setting<int> rnr_timer{
    "verbs.rnr_timer", config::integer_between(0, 31), 12,
    "How long a sender waits where the receiver had no buffer ready, as InfiniBand codes it: 1 is "
    "0.01 ms, 12 is 0.64 ms, 31 is 491.52 ms, 0 is 655.36 ms. Credits see to it that this does not "
    "happen."};
inline const config::Setting<int> rnr_retries{
    "verbs.rnr_retries", config::integer_between(0, {7, "without end"}), 7,
    "How often it tries again then, before the link is dead."};
inline const config::Setting<std::size_t> cache{
    "verbs.cache", config::size_between({0, "none"}, 1_TiB), 1_GiB,
    "How much of the program's memory stays registered with RDMA devices after messages went from "
    "it or to it, so that the next need not register it again. It counts against the limit of "
    "locked memory."};

inline const config::Table table{&gid_index, &ack_timeout, &retries,
                                 &rnr_timer, &rnr_retries, &cache};

}  // namespace torusmp::transport::verbs::setting
