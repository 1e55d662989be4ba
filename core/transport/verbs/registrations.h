// SPDX-License-Identifier: BSD-3-Clause
// Memory of the program that devices may access: registered when first used, and kept, because
// registering pins every page. Registrations are found by address, so they must be forgotten when
// the program unmaps that memory: the next mapping at the same address has other pages.
//
// Unmapping is recorded when it happens (unmapped.h) and handled before the next lookup. If it
// cannot be monitored, nothing is kept.
//
// Owned by the VerbsInterface and used under the Runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/transport/api/interface.h"
#include "core/transport/verbs/device.h"
#include "core/transport/verbs/unmapped.h"

namespace torusmp::transport::verbs {

// Whole pages of memory, and their registration with each device that has needed them.
class Registration {
  public:
    std::uint32_t local_key(const Device& device) const { return regions_[device.index()]->lkey; }
    std::uint32_t remote_key(const Device& device) const {
        return writable_ ? regions_[device.index()]->rkey : 0;
    }

  private:
    friend class Registrations;
    std::uintptr_t begin_ = 0;
    std::uintptr_t end_ = 0;
    std::vector<MemoryRegion> regions_;  // by device; null until needed
    bool writable_ = true;
    bool kept_ = false;     // it can be found by address
    bool lasting_ = false;  // registered until its memory is freed, because it was allocated here
    int users_ = 0;
    std::list<std::unique_ptr<Registration>>::iterator place_;  // in the order of last use
};

struct RegistrationStatistics {
    std::uint64_t found = 0;     // uses of memory that was already registered
    std::uint64_t made = 0;      // registrations
    std::uint64_t evicted = 0;   // forgotten for lack of room
    std::uint64_t unmapped = 0;  // forgotten because the program unmapped the memory
    std::uint64_t refused = 0;   // could not be registered; sent by copies
    std::uint64_t bytes = 0;     // currently kept
};

class Registrations {
  public:
    // At most `most` bytes of unused memory stay registered. `log` is called once, at a refusal.
    Registrations(std::size_t most, const std::vector<std::unique_ptr<Device>>& devices,
                  std::function<void(std::string_view)> log);
    ~Registrations();
    Registrations(const Registrations&) = delete;
    Registrations& operator=(const Registrations&) = delete;

    // The registration of this memory with these devices; null if the system refuses. `to_write`
    // means that peers, or the device, will write to the memory. The caller must release() it.
    Registration* acquire(ConstBytes memory, std::span<const Device* const> devices, bool to_write);
    void release(Registration* registration);

    // Memory that stays registered with all devices until it is freed.
    void* allocate(std::size_t bytes, std::size_t alignment);
    void free(void* memory);

    const RegistrationStatistics& statistics() const { return statistics_; }

  private:
    using All = std::list<std::unique_ptr<Registration>>;

    Registration* find(std::uintptr_t begin, std::uintptr_t end);
    Registration& make(std::uintptr_t begin, std::uintptr_t end);
    bool register_with(Registration& registration, const Device& device, bool to_write);
    void refuse(const Device& device, std::size_t bytes, int error);
    void forget_unmapped();
    void forget(Registration& registration);  // can no longer be found; destroyed when unused
    void evict();

    std::size_t most_;
    const std::vector<std::unique_ptr<Device>>& devices_;
    std::function<void(std::string_view)> log_;
    All all_;                                           // last used first
    std::map<std::uintptr_t, Registration*> by_begin_;  // kept ones, which do not overlap
    std::map<void*, std::size_t> allocated_;            // bytes mapped
    std::unique_ptr<Unmapped> unmapped_;                // null if nothing is kept
    bool told_ = false;
    RegistrationStatistics statistics_;
};

}  // namespace torusmp::transport::verbs
