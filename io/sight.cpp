// SPDX-License-Identifier: BSD-3-Clause
#include "io/sight.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

namespace torusmp::io {
namespace {

// File systems that several hosts mount; the numbers are those of statfs(2) and of their sources.
struct Kind {
    std::int64_t type;
    const char* name;
    bool shared;
};
constexpr Kind kinds[] = {
    {0x6969, "nfs", true},
    {0x0bd00bd0, "lustre", true},
    {0x00c36400, "ceph", true},
    {0x65735546, "fuse", true},
    {0x19830326, "beegfs", true},
    {0x47504653, "gpfs", true},
    {0xff534d42, "cifs", true},
    {0xfe534d42, "smb2", true},
    {0x01021997, "9p", true},
    {0x7461636f, "ocfs2", true},
    {0x01161970, "gfs2", true},
    {0x5346414f, "afs", true},
    {0x20030528, "orangefs", true},
    {0x6a656a62, "virtiofs", true},
    {0xef53, "ext4", false},
    {0x58465342, "xfs", false},
    {0x9123683e, "btrfs", false},
    {0x01021994, "tmpfs", false},
    {0x794c7630, "overlayfs", false},
    {0x2fc12fc1, "zfs", false},
    {0xf2f52010, "f2fs", false},
    {0x858458f6, "ramfs", false},
};

const Kind* kind_of(std::int64_t type) {
    for (const Kind& kind : kinds)
        if (kind.type == type) return &kind;
    return nullptr;
}

std::uint64_t this_kernel() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return id.empty() ? 0 : std::hash<std::string>{}(id);
}

// The folder is opened, because network file systems ask their server anew only then.
void look_at_folder(const std::string& folder, Sight& sight) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat facts {};
    struct statfs system {};
    // A folder without read permission can still be seen.
    const bool seen =
        (descriptor != -1 ? ::fstat(descriptor, &facts) : ::stat(folder.c_str(), &facts)) == 0 &&
        ::statfs(folder.c_str(), &system) == 0;
    if (!seen) sight.error = errno;
    if (descriptor != -1) ::close(descriptor);
    if (!seen) return;
    sight.device = facts.st_dev;
    sight.folder = facts.st_ino;
    sight.changed = facts.st_ctim.tv_sec;
    sight.changed_ns = facts.st_ctim.tv_nsec;
    sight.type = std::int64_t(static_cast<unsigned int>(system.f_type));
    const Kind* const kind = kind_of(sight.type);
    sight.shared = kind != nullptr && kind->shared ? 1 : 0;
}

bool names_host(const std::string& rule, const std::string& host, const std::string& node) {
    return rule == node || rule == host || rule == host.substr(0, host.find('.'));
}

}  // namespace

Sight look_at(const std::string& path, const Homes& homes, const std::string& node) {
    Sight sight{};
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    // Containers of one host have one name, and nodes of their own.
    std::string(node.empty() ? host : node).copy(sight.host, sizeof sight.host - 1);
    sight.kernel = this_kernel();
    std::error_code ignored;
    const std::filesystem::path name(path);
    const std::string absolute =
        name.is_absolute() ? path : (std::filesystem::current_path(ignored) / name).string();
    const auto rule = home_of(homes, absolute);
    sight.rule = rule == homes.end() ? -1 : std::int32_t(std::distance(homes.begin(), rule));
    sight.named = rule != homes.end() && names_host(rule->second, host, node) ? 1 : 0;
    const std::string folder = name.parent_path().string();
    look_at_folder(folder.empty() ? "." : folder, sight);
    struct stat facts {};
    if (sight.error == 0 && ::stat(path.c_str(), &facts) == 0) sight.file = facts.st_ino;
    return sight;
}

bool same_place(const Sight& one, const Sight& other) {
    if (one.folder != other.folder) return false;
    if (one.kernel != 0 && one.kernel == other.kernel && one.device == other.device) return true;
    if (one.shared != 0 && other.shared != 0) return one.type == other.type;
    // A disk and what is mounted from it: inodes alone are alike on many disks.
    return one.shared != other.shared && one.changed == other.changed &&
           one.changed_ns == other.changed_ns;
}

std::string name_of_type(std::int64_t type) {
    const Kind* const kind = kind_of(type);
    return kind != nullptr ? kind->name : fmt::format("{:#x}", type);
}

}  // namespace torusmp::io
