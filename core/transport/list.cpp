// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/list.h"

#include <algorithm>
#include <ranges>
#include <stdexcept>

#include "core/transport/api/settings.h"
#include "core/transport/common/settings.h"
#include "core/transport/ethernet/descriptor.h"
#include "core/transport/shm/descriptor.h"
#include "core/transport/tcp/descriptor.h"
#include "core/transport/verbs/settings.h"
#if TORUSMP_HAS_VERBS
#include "core/transport/verbs/descriptor.h"
#endif

namespace torusmp::transport {
namespace {

const std::vector<const Descriptor*>& all() {
    static const std::vector<const Descriptor*> sorted = [] {
        std::vector<const Descriptor*> list {
            &shm::descriptor, &ethernet::descriptor, &tcp::descriptor,
#if TORUSMP_HAS_VERBS
                &verbs::descriptor,
#endif
        };
        std::stable_sort(list.begin(), list.end(),
                         [](const auto* a, const auto* b) { return a->rank > b->rank; });
        return list;
    }();
    return sorted;
}

template <class Fits>
const Descriptor& first(Fits&& fits) {
    for (const Descriptor* it : all())
        if (fits(*it)) return *it;
    throw std::logic_error("a build without a transport for every connection");
}

}  // namespace

std::span<const Descriptor* const> transports() {
    return all();
}

const Descriptor* find_transport(std::string_view name) {
    for (const Descriptor* it : all())
        if (it->name == name) return it;
    return nullptr;
}

std::vector<std::string> transport_names() {
    std::vector<std::string> names;
    for (const Descriptor* it : all()) names.emplace_back(it->name);
    std::sort(names.begin(), names.end());
    names.insert(names.begin(), any_transport);
    return names;
}

std::string those_that(bool (*fit)(const Descriptor&)) {
    std::vector<std::string> names;
    for (const std::string& name : transport_names())
        if (const Descriptor* it = find_transport(name); it == nullptr || fit(*it))
            names.push_back(name);
    return config::alternatives(names);
}

std::vector<config::Table> transport_settings() {
    std::vector<config::Table> tables{{&setting::use}, setting::slots, setting::network};
    for (const Descriptor* it : all()) tables.push_back(it->settings);
    return tables;
}

std::vector<config::AbsentTable> absent_transport_settings() {
    return {
#if !TORUSMP_HAS_VERBS
        {verbs::setting::table,
         "this build has no transport verbs: expected one configured with TORUSMP_VERBS=ON"},
#endif
    };
}

const Descriptor* wanted_transport(const config::Settings& settings) {
    return find_transport(settings[setting::use]);
}

const Descriptor& host_transport() {
    return first([](const Descriptor& it) { return it.inside_host; });
}

const Descriptor& transport_inside_host(const config::Settings& settings) {
    const Descriptor* const wanted = wanted_transport(settings);
    const bool alone = wanted != nullptr && !wanted->needs_devices;
    return alone ? *wanted : host_transport();
}

const Forwarding& forwarding() {
    return *first([](const Descriptor& it) { return it.forwarding != nullptr; }).forwarding;
}

const Descriptor& fallback_among(std::span<const Descriptor* const> list) {
    for (const Descriptor* it : std::views::reverse(list))
        if (!it->inside_host && !it->needs_devices) return *it;
    throw std::logic_error("no transport among these can carry every link between hosts");
}

const Descriptor& fallback_transport() {
    return fallback_among(all());
}

}  // namespace torusmp::transport
