// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/verbs/registrations.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "core/transport/verbs/slots.h"

namespace torusmp::transport::verbs {
namespace {

std::uintptr_t page_size() {
    static const auto size = std::uintptr_t(sysconf(_SC_PAGESIZE));
    return size;
}

}  // namespace

Registrations::Registrations(std::size_t most, const std::vector<std::unique_ptr<Device>>& devices,
                             std::function<void(std::string_view)> log)
    : most_(most), devices_(devices), log_(std::move(log)) {
    if (most_ == 0) return;
    unmapped_ = std::make_unique<Unmapped>();
    if (unmapped_->watches()) return;
    unmapped_.reset();
    most_ = 0;
    if (log_)
        log_(
            "verbs: unmapping of memory cannot be watched here (libucm.so.0 of UCX is missing), so "
            "memory is registered for each message; expected the package libucx0");
}

Registrations::~Registrations() {
    by_begin_.clear();
    all_.clear();
    for (const auto& [memory, bytes] : allocated_) munmap(memory, bytes);
}

// The kept registration that covers the whole stretch.
Registration* Registrations::find(std::uintptr_t begin, std::uintptr_t end) {
    auto after = by_begin_.upper_bound(begin);
    if (after == by_begin_.begin()) return nullptr;
    Registration* const before = std::prev(after)->second;
    return before->end_ >= end ? before : nullptr;
}

// Makes a registration that covers this stretch and all kept ones that overlap it, which are
// forgotten.
Registration& Registrations::make(std::uintptr_t begin, std::uintptr_t end) {
    if (most_ != 0)
        for (;;) {
            auto overlapping = by_begin_.lower_bound(begin);
            if (overlapping != by_begin_.begin() && std::prev(overlapping)->second->end_ > begin)
                --overlapping;
            if (overlapping == by_begin_.end() || overlapping->first >= end) break;
            Registration& old = *overlapping->second;
            if (!old.lasting_) {
                begin = std::min(begin, old.begin_);
                end = std::max(end, old.end_);
            }
            forget(old);
        }
    all_.push_front(std::make_unique<Registration>());
    Registration& made = *all_.front();
    made.place_ = all_.begin();
    made.begin_ = begin;
    made.end_ = end;
    made.regions_.resize(devices_.size());
    return made;
}

bool Registrations::register_with(Registration& registration, const Device& device, bool to_write) {
    MemoryRegion& region = registration.regions_[device.index()];
    if (region) return true;
    const std::size_t bytes = registration.end_ - registration.begin_;
    const int access =
        registration.writable_ ? IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0;
    const auto memory = reinterpret_cast<void*>(registration.begin_);
    region.reset(ibv_reg_mr(device.domain(), memory, bytes, access));
    // Memory that is read-only for the program can still be sent.
    if (!region && registration.writable_ && !to_write && (errno == EFAULT || errno == EACCES)) {
        registration.writable_ = false;
        region.reset(ibv_reg_mr(device.domain(), memory, bytes, 0));
    }
    if (region) {
        ++statistics_.made;
        return true;
    }
    return false;
}

void Registrations::refuse(const Device& device, std::size_t bytes, int error) {
    ++statistics_.refused;
    if (told_ || !log_) return;
    told_ = true;
    log_(fmt::format("verbs: {}. Until it succeeds, large messages are copied, which is slower.",
                     registration_trouble(device, bytes, error)));
}

Registration* Registrations::acquire(ConstBytes memory, std::span<const Device* const> devices,
                                     bool to_write) {
    forget_unmapped();
    const auto from = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t begin = from & ~(page_size() - 1);
    const std::uintptr_t end = (from + memory.size() + page_size() - 1) & ~(page_size() - 1);
    Registration* found = find(begin, end);
    if (found != nullptr && to_write && !found->writable_) {
        forget(*found);
        found = nullptr;
    }
    const bool made = found == nullptr;
    if (made) found = &make(begin, end);
    ++found->users_;
    const std::uint64_t made_before = statistics_.made;
    for (const Device* device : devices) {
        if (register_with(*found, *device, to_write)) continue;
        int error = errno;
        // Unused registrations may be what exceeds a limit.
        if (error == ENOMEM && statistics_.bytes != 0) {
            const std::size_t most = std::exchange(most_, 1);
            evict();
            most_ = most;
            if (register_with(*found, *device, to_write)) continue;
            error = errno;
        }
        refuse(*device, found->end_ - found->begin_, error);
        if (made) {
            found->users_ = 0;
            all_.erase(found->place_);
        } else {
            release(found);
        }
        return nullptr;
    }
    if (statistics_.made == made_before) ++statistics_.found;
    if (made && most_ != 0) {
        found->kept_ = true;
        by_begin_.emplace(found->begin_, found);
        statistics_.bytes += found->end_ - found->begin_;
        evict();
    } else if (!made) {
        all_.splice(all_.begin(), all_, found->place_);
    }
    return found;
}

void Registrations::release(Registration* registration) {
    if (--registration->users_ == 0 && !registration->kept_) all_.erase(registration->place_);
}

void Registrations::forget(Registration& registration) {
    by_begin_.erase(registration.begin_);
    registration.kept_ = false;
    if (!registration.lasting_) statistics_.bytes -= registration.end_ - registration.begin_;
    if (registration.users_ == 0) all_.erase(registration.place_);
}

void Registrations::forget_unmapped() {
    if (unmapped_ == nullptr || !unmapped_->any()) [[likely]]
        return;
    for (const Unmapped::Range& range : unmapped_->take()) {
        auto it = by_begin_.upper_bound(range.begin);
        if (it != by_begin_.begin()) --it;
        while (it != by_begin_.end() && it->first < range.end) {
            Registration& registration = *it->second;
            ++it;
            if (registration.end_ <= range.begin || registration.lasting_) continue;
            ++statistics_.unmapped;
            forget(registration);
        }
    }
}

// Forgets the least recently used registrations until no more than wanted are kept.
void Registrations::evict() {
    for (auto it = all_.end(); statistics_.bytes > most_ && it != all_.begin();) {
        Registration& oldest = **--it;
        if (oldest.users_ != 0 || !oldest.kept_ || oldest.lasting_) continue;
        ++statistics_.evicted;
        ++it;
        forget(oldest);
    }
}

// ---- allocated memory ----

void* Registrations::allocate(std::size_t bytes, std::size_t alignment) {
    const std::uintptr_t page = std::max<std::uintptr_t>(page_size(), alignment);
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
    // If the alignment is larger than a page, the excess is unmapped.
    const std::size_t mapped = whole + (page > page_size() ? page : 0);
    void* const raw =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    const auto begin = (reinterpret_cast<std::uintptr_t>(raw) + page - 1) & ~(page - 1);
    const std::size_t front = begin - reinterpret_cast<std::uintptr_t>(raw);
    if (front != 0) munmap(raw, front);
    if (mapped - front > whole)
        munmap(reinterpret_cast<void*>(begin + whole), mapped - front - whole);
    forget_unmapped();
    Registration& made = make(begin, begin + whole);
    for (const auto& device : devices_)
        if (!register_with(made, *device, true)) {
            // The memory is still usable: large messages to it are copied.
            refuse(*device, whole, errno);
            all_.erase(made.place_);
            allocated_.emplace(reinterpret_cast<void*>(begin), whole);
            return reinterpret_cast<void*>(begin);
        }
    made.kept_ = made.lasting_ = true;
    by_begin_.emplace(begin, &made);
    allocated_.emplace(reinterpret_cast<void*>(begin), whole);
    return reinterpret_cast<void*>(begin);
}

void Registrations::free(void* memory) {
    const auto found = allocated_.find(memory);
    if (found == allocated_.end()) return;
    const auto kept = by_begin_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (kept != by_begin_.end() && kept->second->lasting_) forget(*kept->second);
    munmap(memory, found->second);
    allocated_.erase(found);
}

}  // namespace torusmp::transport::verbs
