#include "config/cable.h"

#include <fmt/format.h>

#include "config/geometry.h"

namespace torusmp::config {

std::string host_of(const Settings& settings, const CableEnd& end) {
    const auto& hosts = host_names(settings);
    if (std::size_t(end.node) < hosts.size()) return hosts[std::size_t(end.node)];
    return fmt::format("node {}", end.node);
}

std::string device_of(const Settings& settings, const CableEnd& end) {
    return link_device(settings, end.node, end.direction);
}

std::string describe_end(const Settings& settings, const CableEnd& end) {
    return fmt::format("{} of {}", device_of(settings, end), host_of(settings, end));
}

std::string describe_link(const Settings& settings, const CableEnd& one, const CableEnd& other) {
    const std::string ours = device_of(settings, one), theirs = device_of(settings, other);
    return fmt::format("link {} of {} to {} ({} to {})", direction_name(one.direction),
                       host_of(settings, one), host_of(settings, other),
                       ours.empty() ? "no device" : ours, theirs.empty() ? "no device" : theirs);
}

}  // namespace torusmp::config
