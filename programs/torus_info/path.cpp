// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_info/path.h"

#include <fmt/format.h>
#include <mntent.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/text.h"
#include "config/geometry.h"
#include "config/options.h"
#include "io/residence.h"
#include "launch/bootstrap.h"

namespace torusmp::torus_info {

using namespace config;
namespace {

// A rank reports this about its host.
struct View {
    io::Sight sight;
    int first = 0;      // the lowest rank of the host
    std::string mount;  // "/dev/sda1 on /scratch"
};

std::vector<std::byte> encode(const View& view) {
    std::vector<std::byte> bytes(sizeof view.sight + sizeof view.first + view.mount.size());
    std::byte* at = bytes.data();
    std::memcpy(at, &view.sight, sizeof view.sight);
    std::memcpy(at += sizeof view.sight, &view.first, sizeof view.first);
    std::memcpy(at + sizeof view.first, view.mount.data(), view.mount.size());
    return bytes;
}

std::optional<View> decode(const std::vector<std::byte>& bytes) {
    View view;
    constexpr std::size_t fixed = sizeof view.sight + sizeof view.first;
    if (bytes.size() < fixed) return std::nullopt;
    std::memcpy(&view.sight, bytes.data(), sizeof view.sight);
    std::memcpy(&view.first, bytes.data() + sizeof view.sight, sizeof view.first);
    view.sight.host[sizeof view.sight.host - 1] = '\0';
    view.mount.assign(reinterpret_cast<const char*>(bytes.data()) + fixed, bytes.size() - fixed);
    return view;
}

bool lies_below(const std::string& path, const std::string& folder) {
    return folder == "/" || path == folder || path.starts_with(folder + "/");
}

// The mount that the path is below, the last one where several lie over each other.
std::string mount_of(const std::string& path) {
    std::error_code ignored;
    const std::string whole =
        std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
    const std::unique_ptr<FILE, int (*)(FILE*)> table(setmntent("/proc/self/mounts", "r"),
                                                      endmntent);
    std::string best, text = "not known";
    if (table == nullptr) return text;
    while (const mntent* const entry = getmntent(table.get())) {
        if (!lies_below(whole, entry->mnt_dir) || std::strlen(entry->mnt_dir) < best.size())
            continue;
        best = entry->mnt_dir;
        text = fmt::format("{} {} on {}", entry->mnt_type, entry->mnt_fsname, entry->mnt_dir);
    }
    return text;
}

std::string state_of(const io::Sight& sight) {
    if (sight.file != 0) return "the file";
    if (sight.folder != 0) return "the folder";
    return fmt::format("nothing ({})", std::strerror(sight.error));
}

// One row for each host.
void print(const std::string& path, const std::vector<View>& views,
           const io::Residence& residence) {
    std::vector<std::array<std::string, 4>> rows{
        {"host", "file system", "it has", "its ranks reach the file"}};
    const io::Sight& keeper = views[std::size_t(residence.keeper)].sight;
    for (std::size_t rank = 0; rank < views.size(); ++rank) {
        const View& view = views[rank];
        if (view.first != int(rank)) continue;
        std::string how = "directly";
        if (!residence.refusal.empty())
            how = "not at all";
        else if (!residence.members[rank])
            how = fmt::format("through rank {} on host {}", residence.keeper, keeper.host_name());
        rows.push_back({view.sight.host_name(), base::printable(view.mount), state_of(view.sight),
                        std::move(how)});
    }
    std::array<std::size_t, 4> widths{};
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    fmt::print("{}\n", base::printable(path, 512));
    for (const auto& row : rows)
        fmt::print("  {:<{}}  {:<{}}  {:<{}}  {}\n", row[0], widths[0], row[1], widths[1], row[2],
                   widths[2], row[3]);
    if (residence.refusal.empty())
        fmt::print("Why: {}.\n", residence.why);
    else
        fmt::print("It cannot be opened: {}.\n", residence.refusal);
}

}  // namespace

int explain_path(const std::string& path, const Settings& settings) {
    const auto bootstrap = launch::connect_bootstrap();
    const auto& names = host_names(settings);
    const bool in_job = bootstrap->size() > 1 || bootstrap->name() != "single";
    const std::string node =
        names.empty() || !in_job ? "" : names[std::size_t(node_of(settings, bootstrap->rank()))];
    const io::Homes& homes = settings[io::setting::at];
    const View own{io::look_at(path, homes, node), bootstrap->local_ranks().front(),
                   mount_of(path)};
    std::vector<View> views;
    for (const auto& bytes : bootstrap->exchange(encode(own))) {
        const auto view = decode(bytes);
        if (!view) throw UsageError("torus-info --path: another program is part of this job");
        views.push_back(*view);
    }
    int code = exit_ok;
    if (bootstrap->rank() == 0) {
        std::vector<io::Sight> sights;
        std::vector<int> hosts;
        for (const View& view : views) {
            sights.push_back(view.sight);
            hosts.push_back(view.first);
        }
        const io::Residence residence = io::residence_of(path, sights, hosts, homes, true);
        print(path, views, residence);
        if (!in_job && !names.empty())
            fmt::print("This is about one host. On all: torus-run torus-info --path {}\n", path);
        if (!residence.refusal.empty()) code = exit_failure;
    }
    bootstrap->finalize();
    return code;
}

}  // namespace torusmp::torus_info
