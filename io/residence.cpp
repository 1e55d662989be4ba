// SPDX-License-Identifier: BSD-3-Clause
#include "io/residence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace torusmp::io {
namespace {

// Members that see the same, by the first of them.
using Places = std::vector<std::vector<int>>;

template <class Sees>
Places places_of(const std::vector<Sight>& sights, Sees&& sees) {
    Places places;
    for (int member = 0; member < int(sights.size()); ++member) {
        const Sight& sight = sights[std::size_t(member)];
        if (!sees(sight)) continue;
        // One that is on the disk itself speaks for those that mount it.
        const auto known = std::find_if(places.begin(), places.end(), [&](const auto& place) {
            return std::any_of(place.begin(), place.end(), [&](int other) {
                return same_place(sights[std::size_t(other)], sight);
            });
        });
        if (known == places.end())
            places.push_back({member});
        else
            known->push_back(member);
    }
    return places;
}

void take(Residence& residence, const std::vector<int>& members) {
    for (const int member : members) residence.members[std::size_t(member)] = true;
    residence.keeper = members.front();
}

void take_all(Residence& residence, std::string why) {
    residence.members.assign(residence.members.size(), true);
    residence.why = std::move(why);
}

std::string advice(const std::string& path) {
    return fmt::format("Set io.at to say which host has it, like io.at = {{ \"{}\" = \"HOST\" }}",
                       path.substr(0, std::max<std::size_t>(path.rfind('/') + 1, 2) - 1));
}

// The only place where it can be: beside the disk, if some members are there and others mount it.
void take_place(Residence& residence, const std::vector<Sight>& sights,
                const std::vector<int>& place, const char* what) {
    std::vector<int> beside;
    std::copy_if(place.begin(), place.end(), std::back_inserter(beside),
                 [&](int member) { return sights[std::size_t(member)].shared == 0; });
    const auto& chosen = beside.empty() ? place : beside;
    take(residence, chosen);
    const Sight& first = sights[std::size_t(chosen.front())];
    if (residence.all())
        residence.why = fmt::format("all hosts see the same {}", name_of_type(first.type));
    else if (place.size() == sights.size())
        residence.why = fmt::format("host {} has the disk ({}) that the others mount",
                                    first.host_name(), name_of_type(first.type));
    else
        residence.why = fmt::format("only host {} has {} ({})", first.host_name(), what,
                                    name_of_type(first.type));
}

bool sees_nothing(const Sight& sight) {
    return sight.folder == 0 && sight.error == ENOENT;
}

void find_out(Residence& residence, const std::string& path, const std::vector<Sight>& sights,
              bool creates) {
    const auto refuse = [&](const Places& places, const char* what) {
        residence.refusal =
            fmt::format("hosts {} and {} have different {}. {}",
                        sights[std::size_t(places[0].front())].host_name(),
                        sights[std::size_t(places[1].front())].host_name(), what, advice(path));
    };
    const Places files = places_of(sights, [](const Sight& it) { return it.file != 0; });
    if (files.size() == 1) return take_place(residence, sights, files[0], "the file");
    if (files.size() > 1) return refuse(files, "files of that name");
    const Places folders = places_of(sights, [](const Sight& it) { return it.folder != 0; });
    if (folders.size() == 1) return take_place(residence, sights, folders[0], "the folder");
    if (folders.empty()) return take_all(residence, "no host has the folder");
    if (!creates) return take_all(residence, "no host has the file");
    refuse(folders, "file systems there, and none has the file");
}

}  // namespace

bool Residence::all() const {
    return std::find(members.begin(), members.end(), false) == members.end();
}

std::string other_home(const Sight& sight, const Homes& homes) {
    if (sight.rule < 0 || sight.named != 0) return {};
    const std::string& where = std::next(homes.begin(), sight.rule)->second;
    return where == all_hosts || where == each_host || where == found_out ? std::string() : where;
}

Residence residence_of(const std::string& path, const std::vector<Sight>& sights,
                       const std::vector<int>& hosts, const Homes& homes, bool creates) {
    Residence residence;
    residence.members.resize(sights.size());
    const bool one_host =
        std::all_of(hosts.begin(), hosts.end(), [&](int host) { return host == hosts.front(); });
    const int rule = sights.front().rule;
    for (const Sight& sight : sights)
        if (sight.rule != rule) {
            residence.refusal = fmt::format(
                "it is another file on host {} than on host {}, whose current folders differ. Give "
                "an absolute path",
                sight.host_name(), sights.front().host_name());
            return residence;
        }
    const auto home = rule < 0 ? homes.end() : std::next(homes.begin(), rule);
    const std::string where = home == homes.end() ? found_out : home->second;
    const std::string setting =
        home == homes.end() ? "" : fmt::format("io.at has \"{}\" = \"{}\"", home->first, where);
    if (where == all_hosts) {
        take_all(residence, setting);
    } else if (where == each_host) {
        take_all(residence, setting);
        if (!one_host)
            residence.refusal = fmt::format(
                "{}, so every host has a file of its own there: it can only be opened by ranks of "
                "one host",
                setting);
    } else if (where == found_out) {
        residence.elsewhere = std::all_of(sights.begin(), sights.end(), sees_nothing);
        if (one_host)
            take_all(residence, "all ranks are on one host");
        else
            find_out(residence, path, sights, creates);
    } else {
        std::vector<int> named;
        for (std::size_t i = 0; i < sights.size(); ++i)
            if (sights[i].named != 0) named.push_back(int(i));
        residence.why = setting;
        residence.elsewhere = named.empty();
        if (named.empty())
            residence.refusal = fmt::format(
                "{}, but this job has no rank on that host. Start one there, or correct io.at",
                setting);
        else
            take(residence, named);
    }
    return residence;
}

}  // namespace torusmp::io
