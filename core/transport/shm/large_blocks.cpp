// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/large_blocks.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "base/first_line.h"

namespace torusmp::transport::shm {
namespace {

constexpr std::size_t endless = SIZE_MAX / 2;

// Whether one of the words is the chosen one, as in "always [madvise] never".
bool is_chosen(const std::filesystem::path& file, std::initializer_list<std::string_view> words) {
    const std::string line = base::first_line(file);
    for (const std::string_view word : words)
        if (line.find("[" + std::string(word) + "]") != std::string::npos) return true;
    return false;
}

}  // namespace

// The files: Linux, Documentation/admin-guide/mm/transhuge.rst and sysctl/vm.rst.
std::size_t end_of_large_blocks(Malloc wish, const std::filesystem::path& root) {
    if (wish == Malloc::separate) return 0;
    if (wish == Malloc::shared) return endless;
    if (base::first_line(root / "proc/sys/vm/overcommit_memory") == "2") return 0;
    const auto huge = root / "sys/kernel/mm/transparent_hugepage";
    if (is_chosen(huge / "enabled", {"always"}) &&
        !is_chosen(huge / "shmem_enabled", {"always", "within_size", "force"})) {
        const std::string bytes = base::first_line(huge / "hpage_pmd_size");
        constexpr std::size_t usual = std::size_t{2} << 20;
        return bytes.empty() ? usual : std::stoull(bytes);
    }
    return endless;
}

}  // namespace torusmp::transport::shm
