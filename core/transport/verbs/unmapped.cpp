// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/unmapped.h"

#include <dlfcn.h>
#include <ucm/api/ucm.h>

#include <cstdlib>

namespace torusmp::transport::verbs {
namespace {

constexpr int hook_priority = 0;

// The two functions of libucm that are needed here.
struct Hooks {
    decltype(&ucm_set_event_handler) set = nullptr;
    decltype(&ucm_unset_event_handler) unset = nullptr;
};

Hooks load() {
    setenv("UCX_HANDLE_ERRORS", "none", 0);
    Hooks hooks;
    // Never unloaded, because the calls that they have patched jump into them.
    if (dlopen("libucs.so.0", RTLD_LAZY | RTLD_GLOBAL) == nullptr) return hooks;
    void* const ucm = dlopen("libucm.so.0", RTLD_LAZY | RTLD_GLOBAL);
    if (ucm == nullptr) return hooks;
    hooks.set = reinterpret_cast<decltype(hooks.set)>(dlsym(ucm, "ucm_set_event_handler"));
    hooks.unset = reinterpret_cast<decltype(hooks.unset)>(dlsym(ucm, "ucm_unset_event_handler"));
    return hooks;
}

const Hooks& hooks() {
    static const Hooks loaded = load();
    return loaded;
}

void on_unmapped(ucm_event_type_t /*type*/, ucm_event_t* event, void* unmapped) {
    const auto begin = reinterpret_cast<std::uintptr_t>(event->vm_unmapped.address);
    static_cast<Unmapped*>(unmapped)->note(begin, begin + event->vm_unmapped.size);
}

}  // namespace

Unmapped::Unmapped() {
    watches_ = hooks().set != nullptr && hooks().unset != nullptr &&
               hooks().set(UCM_EVENT_VM_UNMAPPED, hook_priority, on_unmapped, this) == UCS_OK;
}

Unmapped::~Unmapped() {
    if (watches_) hooks().unset(UCM_EVENT_VM_UNMAPPED, on_unmapped, this);
}

void Unmapped::lock() noexcept {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
}

void Unmapped::note(std::uintptr_t begin, std::uintptr_t end) noexcept {
    lock();
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count < room) ranges_[count] = {begin, end};
    if (count <= room) count_.store(count + 1, std::memory_order_release);
    busy_.clear(std::memory_order_release);
}

std::vector<Unmapped::Range> Unmapped::take() {
    // Reserved before the lock is taken: allocating may unmap memory, and recording that would wait
    // for the lock.
    std::vector<Range> taken;
    taken.reserve(room);
    lock();
    const std::size_t count = count_.exchange(0, std::memory_order_acq_rel);
    if (count > room)
        taken.push_back({0, ~std::uintptr_t{0}});
    else
        taken.assign(ranges_.begin(), ranges_.begin() + std::ptrdiff_t(count));
    busy_.clear(std::memory_order_release);
    return taken;
}

}  // namespace torusmp::transport::verbs
