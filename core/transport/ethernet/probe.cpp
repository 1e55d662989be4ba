// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/probe.h"

#include <fmt/format.h>

#include <stdexcept>

#include "config/cable.h"
#include "config/geometry.h"
#include "config/settings.h"
#include "core/transport/ethernet/forwarding.h"
#include "core/transport/ethernet/opening.h"

namespace torusmp::transport::ethernet {
namespace {

using config::CableEnd;
using config::Settings;

constexpr const char* by_itself = "sockets self";
constexpr const char* by_helper = "sockets helper";
constexpr const char* not_at_all = "sockets none";
// "forwards d0p torusmp:1:4x4:3:1234abcd": the device and the name of its program.
constexpr std::string_view forwards = "forwards ";

// The report of the host of an end; empty if there is none.
std::string access_of(const CableEnd& end) {
    const auto found = end.facts->offers.find("ethernet");
    return found == end.facts->offers.end() || found->second.empty() ? "" : found->second.front();
}

std::string describe_way(const Settings& settings, const CableEnd& end) {
    if (end.facts == nullptr)
        return fmt::format("{}, if ranks may send them there, which was not asked",
                           config::describe_end(settings, end));
    return fmt::format("{}{}", config::describe_end(settings, end),
                       access_of(end) == by_helper ? " by torus-ethernet" : "");
}

}  // namespace

std::vector<std::string> FrameProbe::offers(const std::vector<std::string>& devices) const {
    const Way way = way_to_open();
    if (way == Way::none) return {not_at_all};
    std::vector<std::string> all{way == Way::self ? by_itself : by_helper};
    try {
        for (const auto& [device, program] : find_forwarding(devices))
            if (!program.empty()) all.push_back(fmt::format("{}{} {}", forwards, device, program));
    } catch (const std::runtime_error&) {
        // A host that cannot query forwarding does not report any.
    }
    return all;
}

void FrameProbe::check(const std::vector<std::string>& offers) const {
    for (const std::string& it : offers)
        if (it != by_itself && it != by_helper && it != not_at_all && !it.starts_with(forwards))
            throw config::ConfigError(fmt::format(
                "ethernet: found \"{}\", expected \"{}\", \"{}\", \"{}\" or \"{}(device) (name)\"",
                it, by_itself, by_helper, not_at_all, forwards));
}

bool FrameProbe::is_there(const Settings& settings, const CableEnd& end) const {
    const config::Device* const device = end.facts->find(config::device_of(settings, end));
    return device != nullptr && !device->mac.empty();
}

std::optional<Trouble> FrameProbe::trouble(const Settings& settings, const CableEnd& end) const {
    const std::string name = config::device_of(settings, end);
    const std::string host = config::host_of(settings, end);
    if (name.empty())
        return Trouble{
            fmt::format("[links] has no device for link {} of {}",
                        config::direction_name(end.direction), host),
            fmt::format("add the device of \"{}\" there", config::direction_name(end.direction))};
    const config::Device* const device = end.facts->find(name);
    if (device == nullptr) return Trouble{fmt::format("{} has no device {}", host, name), ""};
    if (device->mac.empty())
        return Trouble{
            fmt::format("{} is not an Ethernet device", config::describe_end(settings, end)), ""};
    if (const std::string way = access_of(end); way != by_itself && way != by_helper)
        return Trouble{
            fmt::format("ranks on {} may not send raw Ethernet frames", host),
            fmt::format("as root there, give the user permission: \"adduser USER torusmp\" where "
                        "Debian's package is installed, else once \"groupadd -r torusmp; chgrp "
                        "torusmp {0} && chmod 0750 {0} && setcap cap_net_raw=ep {0}\"; then log "
                        "in again",
                        helper_file())};
    return std::nullopt;
}

std::optional<Trouble> FrameProbe::trouble_forwarded(const Settings& settings,
                                                     const CableEnd& end) const {
    if (auto none = trouble(settings, end)) return none;
    const std::string way = fmt::format("{}{} ", forwards, config::device_of(settings, end));
    const std::string expected = plan_name(*config::node_torus(settings), end.node);
    const std::string host = config::host_of(settings, end);
    std::string found;
    for (const std::string& it : end.facts->offers.at("ethernet"))
        if (it.starts_with(way)) found = it.substr(way.size());
    if (found.starts_with(expected)) return std::nullopt;
    return Trouble{found.empty() ? fmt::format("{} does not forward frames", host)
                                 : fmt::format("{} forwards frames by {}, expected {}...", host,
                                               found, expected),
                   "install it there, as root: \"torus-info netplan --forwarding --apply\""};
}

std::string FrameProbe::reason(const Settings& settings, const CableEnd& one,
                               const CableEnd& other) const {
    return fmt::format("frames between {} and {}", describe_way(settings, one),
                       describe_way(settings, other));
}

}  // namespace torusmp::transport::ethernet
