// SPDX-License-Identifier: BSD-3-Clause
// Settings of the core: paths, progress, and when a long wait is reported.
//
// Sources include this, headers do not: a new row compiles only those that read settings. A module
// reads its own when it is made: commons.options.value(setting::watchdog).
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "config/settings.h"
#include "config/types.h"
#include "core/options.h"
#include "core/transport/api/settings.h"

namespace torusmp::core {

// How ranks of one host reach each other: all directly, or only over the links of the torus.
enum class LocalPaths { direct, links };
// How messages move while the program computes: not at all, or by a thread of the library.
enum class ProgressMode { polling, thread };

namespace setting {

using namespace config::literals;

inline const config::Setting<LocalPaths> local{
    "transport.local",
    config::choice<LocalPaths>({{"direct", LocalPaths::direct}, {"links", LocalPaths::links}}),
    LocalPaths::direct,
    "How ranks of one host reach each other. direct: every rank through shared memory. links: only "
    "neighbours through shared memory, all others by relay, as on a cluster."};
// Settings of the receive slots, which transports use too.
using transport::setting::eager_limit;
using transport::setting::relay_tokens;
using transport::setting::tokens;
inline const config::Setting<std::size_t> unexpected{
    "transport.unexpected", config::size_between(0, std::size_t{1} << 40), 64_MiB,
    "Memory of each rank for unexpected messages (no receive is posted). When it is full, senders "
    "keep further messages until a receive is posted, so MPI_Send waits; messages in transit at "
    "that time are stored in addition."};
inline const config::Setting<ProgressMode> progress{
    "progress.mode",
    config::choice<ProgressMode>(
        {{"polling", ProgressMode::polling}, {"thread", ProgressMode::thread}}),
    ProgressMode::polling,
    "What moves messages while the program computes. polling: nothing; messages move only "
    "inside calls. thread: a thread in each rank, which is faster only if it has its own core."};
inline const config::Setting<config::Duration> spin{
    "progress.spin", config::time_between(0s, 1s), 200us,
    "How long a wait polls for messages before it sleeps. It is shorter where ranks outnumber "
    "cores."};
inline const config::Setting<config::Duration> watchdog{
    "watchdog.after", config::time_between({0s, "off"}, 24h), 60s,
    "After this time a waiting rank reports what it waits for: peer, message, link and credits. 0: "
    "never."};

inline const config::Setting<bool> detour{
    "routing.detour", config::boolean(), true,
    "Whether a link whose cable dies continues over other cables until its own cable is back. If "
    "false, a dead cable ends the job."};

inline const config::Setting<int> shortcuts{
    "routing.shortcuts", config::integer_between(1, 4096), 32,
    "With routing.forward = \"auto\": the largest number of connections that a rank keeps to ranks "
    "that are not neighbours, forwarded by the kernels in between. A further connection replaces "
    "the least recently used one."};

inline const config::Table table{&local,    &unexpected, &progress, &spin,
                                 &watchdog, &detour,     &shortcuts};

}  // namespace setting

template <class T>
T Options::value(const config::Setting<T>& row) const {
    return settings != nullptr ? (*settings)[row] : row.initial();
}

template <class T>
void Options::set(const config::Setting<T>& row, std::type_identity_t<T> value) {
    config::Settings changed = copy_of_settings();
    changed.set(row, std::move(value));
    settings = std::make_shared<const config::Settings>(std::move(changed));
}

}  // namespace torusmp::core
