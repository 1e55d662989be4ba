// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/probe.h"

#include <fmt/format.h>

#include "config/cable.h"
#include "config/settings.h"
#include "core/transport/ethernet/opening.h"

namespace torusmp::transport::ethernet {
namespace {

using config::CableEnd;
using config::Settings;

constexpr const char* by_itself = "sockets self";
constexpr const char* by_helper = "sockets helper";
constexpr const char* not_at_all = "sockets none";

// What the host of an end has told; empty: nothing.
std::string told(const CableEnd& end) {
    const auto found = end.facts->offers.find("ethernet");
    return found == end.facts->offers.end() || found->second.empty() ? "" : found->second.front();
}

std::string describe_way(const Settings& settings, const CableEnd& end) {
    if (end.facts == nullptr) return config::describe_end(settings, end);
    return fmt::format("{}{}", config::describe_end(settings, end),
                       told(end) == by_helper ? " by torus-ethernet" : "");
}

}  // namespace

std::vector<std::string> FrameProbe::offers(const std::vector<std::string>& /*devices*/) const {
    switch (way_to_open()) {
        case Way::self:
            return {by_itself};
        case Way::helper:
            return {by_helper};
        case Way::none:
            break;
    }
    return {not_at_all};
}

void FrameProbe::check(const std::vector<std::string>& offers) const {
    for (const std::string& it : offers)
        if (it != by_itself && it != by_helper && it != not_at_all)
            throw config::ConfigError(
                fmt::format("ethernet: found \"{}\", expected \"{}\", \"{}\" or \"{}\"", it,
                            by_itself, by_helper, not_at_all));
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
            fmt::format("[links] gives link {} of {} no device",
                        config::direction_name(end.direction), host),
            fmt::format("name the device of \"{}\" there", config::direction_name(end.direction))};
    const config::Device* const device = end.facts->find(name);
    if (device == nullptr) return Trouble{fmt::format("{} has no device {}", host, name), ""};
    if (device->mac.empty())
        return Trouble{fmt::format("{} is no Ethernet device", config::describe_end(settings, end)),
                       ""};
    if (const std::string way = told(end); way != by_itself && way != by_helper)
        return Trouble{
            fmt::format("on {} ranks may not send Ethernet frames of their own", host),
            fmt::format(
                "give the program that opens sockets for them its capability there, as root: "
                "\"setcap cap_net_raw=ep {}\"",
                helper_file())};
    return std::nullopt;
}

std::optional<Trouble> FrameProbe::trouble_forwarded(const Settings& settings,
                                                     const CableEnd& end) const {
    return Trouble{fmt::format("frames of {} go no further than its cable",
                               config::describe_end(settings, end)),
                   ""};
}

std::string FrameProbe::reason(const Settings& settings, const CableEnd& one,
                               const CableEnd& other) const {
    return fmt::format("frames between {} and {}", describe_way(settings, one),
                       describe_way(settings, other));
}

}  // namespace torusmp::transport::ethernet
