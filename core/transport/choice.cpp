// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/choice.h"

#include <fmt/format.h>

#include <tuple>
#include <utility>

namespace torusmp::transport {
namespace {

using config::CableEnd;
using config::ConfigError;
using config::Settings;

[[noreturn]] void refuse(const Settings& settings, const CableEnd& one, const CableEnd& other,
                         const Descriptor& wanted, const std::string& found) {
    const std::string& where = settings.origin(setting::use).where;
    throw ConfigError(fmt::format("{}: transport.use is {}{}, but {}",
                                  config::describe_link(settings, one, other), wanted.name,
                                  where.empty() ? "" : fmt::format(" ({})", where), found));
}

// The trouble that prevents the use of a transport, the first end's first.
std::optional<Trouble> trouble_of(const Probe& probe, const Settings& settings, const CableEnd& one,
                                  const CableEnd& other) {
    for (const CableEnd* end : {&one, &other})
        if (end->facts != nullptr)
            if (auto trouble = probe.trouble(settings, *end)) return trouble;
    if (one.facts == nullptr || other.facts == nullptr) return std::nullopt;
    return probe.trouble_between(settings, one, other);
}

bool is_there(const Probe& probe, const Settings& settings, const CableEnd& one,
              const CableEnd& other) {
    return (one.facts != nullptr && probe.is_there(settings, one)) ||
           (other.facts != nullptr && probe.is_there(settings, other));
}

std::optional<Trouble> shortage_of(const Probe& probe, const Settings& settings,
                                   const CableEnd& one, const CableEnd& other) {
    for (const CableEnd* end : {&one, &other})
        if (end->facts != nullptr)
            if (auto shortage = probe.shortage(settings, *end)) return shortage;
    return std::nullopt;
}

// Adds why a better transport is not used. Several may have the same reason.
void decline(LinkChoice& choice, const std::string& why) {
    if (choice.reason.find(why) != std::string::npos) return;
    choice.reason += (choice.reason.empty() ? "" : "; ") + why;
}

// Tries the transports between hosts, best first. `judge` returns what prevents the use of one;
// `explain` the reason to use the chosen one; `give_up` the remedy if the requested one cannot be
// used.
template <class Judge, class Explain, class GiveUp>
LinkChoice choose(const Settings& settings, const CableEnd& one, const CableEnd& other,
                  const Placement& placement, std::span<const Descriptor* const> among,
                  Judge&& judge, Explain&& explain, GiveUp&& give_up) {
    const Descriptor* const wanted = wanted_transport(settings);
    const Descriptor* const fallback = &fallback_among(among);
    LinkChoice choice;
    for (const Descriptor* it : among) {
        if (it->inside_host || (wanted != nullptr && it != wanted)) continue;
        if (it == fallback) {
            choice.carrier = it;
            if (wanted != nullptr) choice.reason = fmt::format("transport.use is {}", it->name);
            return choice;
        }
        if (const auto trouble = judge(it->probe)) {
            if (wanted != nullptr) give_up(*it, *trouble);
            decline(choice, trouble->what);
            if (choice.advice.empty() && !trouble->remedy.empty() &&
                is_there(it->probe, settings, one, other))
                choice.advice = trouble->text();
            continue;
        }
        const auto shortage = shortage_of(it->probe, settings, one, other);
        if (shortage && wanted == nullptr) {
            decline(choice, shortage->what);
            if (choice.warning.empty()) choice.warning = shortage->text();
            continue;
        }
        if (it->wants_cores && placement.shares_cores && wanted == nullptr) {
            decline(choice, fmt::format("{} require ranks that do not share processors, but these "
                                        "do",
                                        it->title));
            continue;
        }
        choice.carrier = it;
        explain(it->probe, choice);
        return choice;
    }
    choice.carrier = fallback;
    return choice;
}

}  // namespace

LinkChoice choose_link(const Settings& settings, CableEnd one, CableEnd other, Placement placement,
                       std::span<const Descriptor* const> among) {
    const auto order = [](const CableEnd& end) {
        return std::tuple(-end.direction.sign, end.direction.dimension, end.node);
    };
    if (order(other) < order(one)) std::swap(one, other);
    const Descriptor* const wanted = wanted_transport(settings);
    if (placement.one_host && (wanted == nullptr || wanted->inside_host))
        return {wanted != nullptr ? wanted : &host_transport(), "both ends are on one host", "",
                ""};
    if (wanted != nullptr && wanted->inside_host)
        refuse(settings, one, other, *wanted,
               fmt::format("it joins two hosts: expected {}",
                           those_that([](const Descriptor& it) { return !it.inside_host; })));
    return choose(
        settings, one, other, placement, among,
        [&](const Probe& probe) { return trouble_of(probe, settings, one, other); },
        [&](const Probe& probe, LinkChoice& choice) {
            choice.reason = probe.reason(settings, one, other);
            if (choice.warning.empty()) choice.warning = probe.warning(settings, one, other);
        },
        [&](const Descriptor& it, const Trouble& trouble) {
            refuse(settings, one, other, it, trouble.text() + "; or set transport.use to auto");
        });
}

LinkChoice choose_forwarded(const Settings& settings, CableEnd one, CableEnd other,
                            Placement placement, std::span<const Descriptor* const> among) {
    if (other.node < one.node) std::swap(one, other);
    const auto host = [&](const CableEnd& end) { return config::host_of(settings, end); };
    return choose(
        settings, one, other, placement, among,
        [&](const Probe& probe) -> std::optional<Trouble> {
            for (const CableEnd* end : {&one, &other}) {
                if (end->facts == nullptr)
                    return Trouble{fmt::format("{} reported nothing", host(*end)), ""};
                if (auto trouble = probe.trouble_forwarded(settings, *end)) return trouble;
            }
            return std::nullopt;
        },
        [&](const Probe& /*probe*/, LinkChoice& choice) {
            choice.reason = fmt::format("{} and {}, forwarded by the kernels between",
                                        config::describe_end(settings, one),
                                        config::describe_end(settings, other));
        },
        [&](const Descriptor& it, const Trouble& trouble) {
            throw ConfigError(fmt::format(
                "routing.forward is kernel and transport.use is {}, but between {} and {} {}; or "
                "set routing.forward to relay, or transport.use to auto",
                it.name, host(one), host(other), trouble.text()));
        });
}

}  // namespace torusmp::transport
