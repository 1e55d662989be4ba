// What a user may set of the core: slots, limits, progress, and how long a wait stays silent.
#pragma once

#include "config/setting.h"
#include "config/types.h"
#include "core/transport/api/packet.h"

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
inline const config::Setting<std::size_t> eager_limit{
    "transport.eager_limit", config::size_between(64, 4_MiB), 16_KiB,
    "Messages of this size and more are written straight into the receiver's buffer; smaller ones "
    "are copied through slots that stand ready. It is also the payload of a packet."};
inline const config::Setting<int> tokens{
    "transport.tokens", config::integer_between(2, transport::max_tokens), 64,
    "Packets that may be on their way over one connection before the receiver must have taken one "
    "off."};
inline const config::Setting<int> relay_tokens{
    "transport.relay_tokens", config::integer_between(2, transport::max_tokens), 16,
    "The same for packets that are relayed, for each class of them (the number of dimensions that "
    "a packet has finished)."};
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
    "A wait that lasts longer says what it waits for: rank, peer, link and tokens. 0: never."};

inline const config::Table table{&local,    &eager_limit, &tokens,  &relay_tokens,
                                 &progress, &spin,        &watchdog};

}  // namespace setting
}  // namespace torusmp::core
