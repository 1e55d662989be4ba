// SPDX-License-Identifier: BSD-3-Clause
// What a user may set of the core: paths, progress, and how long a wait stays silent.
#pragma once

#include "config/setting.h"
#include "config/types.h"
#include "core/transport/api/settings.h"

namespace torusmp::core {

// How ranks of one host reach each other: all to all, or by the links of the torus only.
enum class LocalPaths { direct, links };
// Who moves messages while the program computes: nobody, or a thread of its own.
enum class ProgressMode { polling, thread };

namespace setting {

using namespace config::literals;

inline const config::Setting<LocalPaths> local{
    "transport.local",
    config::choice<LocalPaths>({{"direct", LocalPaths::direct}, {"links", LocalPaths::links}}),
    LocalPaths::direct,
    "How ranks of one host reach each other. direct: all to all through shared memory. links: over "
    "the links of the torus only, so that the others are reached by relay, as on a cluster."};
// The slots that stand ready for packets, which transports count too.
using transport::setting::eager_limit;
using transport::setting::relay_tokens;
using transport::setting::tokens;
inline const config::Setting<ProgressMode> progress{
    "progress.mode",
    config::choice<ProgressMode>(
        {{"polling", ProgressMode::polling}, {"thread", ProgressMode::thread}}),
    ProgressMode::polling,
    "Who moves messages while the application computes. polling: nobody; messages move inside "
    "calls. thread: a thread of its own in each rank, which wants a core of its own to gain "
    "anything."};
inline const config::Setting<config::Duration> spin{
    "progress.spin", config::time_between(0s, 1s), 20us,
    "How long a wait looks for messages before it sleeps. Where ranks outnumber cores it is cut "
    "short."};
inline const config::Setting<config::Duration> watchdog{
    "watchdog.after", config::time_between({0s, "off"}, 24h), 60s,
    "A wait that lasts longer says what it waits for: rank, peer, link and credits. 0: never."};

inline const config::Setting<bool> detour{
    "routing.detour", config::boolean(), true,
    "Whether a link whose cable dies goes on over other cables, until its own is back. If not, a "
    "dead cable ends the job."};

inline const config::Setting<int> shortcuts{
    "routing.shortcuts", config::integer_between(1, 4096), 32,
    "With routing.forward = \"auto\": how many connections through the kernels a rank keeps at a "
    "time, to ranks that are no neighbours. For a further one the one that was used longest ago is "
    "closed."};

inline const config::Table table{&local, &progress, &spin, &watchdog, &detour, &shortcuts};

}  // namespace setting
}  // namespace torusmp::core
