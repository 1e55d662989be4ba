// SPDX-License-Identifier: BSD-3-Clause
// Detects cables that are plugged in elsewhere than in the geometry file, from the host heard on
// each device. If two devices of a host are exchanged, by their plugs or by their names, reports
// exactly that. Pure; any thread may call.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "routing/detours.h"

namespace torusmp::config {

struct Plug {
    int node = 0;
    std::string device;
    friend auto operator<=>(const Plug&, const Plug&) = default;
};
// Maps a plug to the plug at the other end of its cable.
using Plugs = std::map<Plug, Plug>;

// A statement for the user, and the cables of the geometry file that it explains.
struct PlugFault {
    std::vector<routing::Link> cables;
    std::string text;
};

// The plugs in `heard` that differ from those in the settings, which have a torus; each cable is
// explained once.
std::vector<PlugFault> find_plug_faults(const Settings& settings, const Plugs& heard);

// The settings with the devices that the links have now, if plugs were moved or devices renamed
// without a change of the shape: each link that `heard` or `exists` contradicts gets a cable of
// `heard` between the same hosts. Empty if nothing differs, or some link has no such cable.
// `exists` returns whether a host has that device.
std::optional<Settings> follow_plugs(const Settings& settings, const Plugs& heard,
                                     const std::function<bool(const Plug&)>& exists);

// The advice for two exchanged devices of a host, whose names are `one` and `other`.
std::string advise_exchange(const std::string& host, const std::string& one,
                            const std::string& other);

// Two devices of one host that are exchanged, if that explains why `here` hears `far` and not
// `expected`. `theirs` is the plug that `far` should hear.
struct Exchange {
    int node = 0;
    std::string one, other;  // devices
    friend auto operator<=>(const Exchange&, const Exchange&) = default;
};
std::vector<Exchange> explain_by_exchange(const Plug& here, const Plug& expected, const Plug& far,
                                          const Plug& theirs);

}  // namespace torusmp::config
