// SPDX-License-Identifier: BSD-3-Clause
// The object behind a handle, and the lookup of handles.
//
// A handle is a pointer to a library object or, below 0x1000, one of the constants of the MPI 5.0
// binary interface (chapter 20), which a table maps to an object. Objects of one class live in a
// slab, all slabs in one window of addresses that is never released (object_memory.h). So a value
// that was never a handle is recognised by its address, and a freed handle by its kind, instead of
// crashing the program. A class for handles derives from Object first, has no virtual functions,
// and names its kind, its handle type, its null handle and the error class for invalid handles; and
// at_any_time if it may be created and freed while MPI is not running.
//
// Slabs and references may be used from any thread if several threads call; see shared_by_threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "mpi11/mpi.h"
#include "mpi11/object_memory.h"

namespace torusmp::mpi {

enum class Kind : std::uint32_t {
    dead = 0,
    communicator = 0x6d6f6331,
    revoked_communicator = 0x6d6f7631,  // a communicator that only local calls accept
    group,
    datatype,
    operation,
    request,
    error_handler,
    info,
    message,
    file,
    session,
    window,
    revoked_file,  // as for communicators
    revoked_window
};

// Whether several threads of the program may call: then shared data is locked. Set during MPI
// initialization, before a second thread may call.
inline constinit bool shared_by_threads = false;

// The object has ended, and its number in the table of Fortran handles is free (fortran/).
void forget_fortran(int number);

struct Object {
    explicit Object(Kind which) : kind(which) {}
    ~Object() {
        if (fortran != 0) forget_fortran(fortran);
    }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;

    Kind kind;                   // comes first, because a dead object has nothing else
    std::uint32_t constant = 0;  // the predefined handle's value; 0 if the address is the handle
    std::atomic<int> references{1};
    int fortran = 0;  // index in the table of Fortran handles; 0 if none yet
};

inline constexpr std::uintptr_t constants = 0x1000;
// Predefined objects by the value of their handle.
inline constinit std::array<Object*, constants> predefined{};

// The object of the value of a handle, of whatever kind; null if there cannot be one.
[[gnu::always_inline]] inline Object* object_at(std::uintptr_t value) {
    if (value < constants) return predefined[value];
    return ObjectMemory::holds(value) ? reinterpret_cast<Object*>(value) : nullptr;
}

// The object of a handle; null if the handle does not refer to a live object of that class.
template <class T>
[[gnu::always_inline]] inline T* find(typename T::Handle handle) {
    Object* const object = object_at(reinterpret_cast<std::uintptr_t>(handle));
    return object != nullptr && object->kind == T::kind_of_class ? static_cast<T*>(object)
                                                                 : nullptr;
}

template <class T>
typename T::Handle handle_of(const T& object) {
    return reinterpret_cast<typename T::Handle>(
        object.constant != 0
            ? std::uintptr_t(object.constant)
            : reinterpret_cast<std::uintptr_t>(static_cast<const Object*>(&object)));
}

// Assigns a predefined object its constant.
template <class T>
void make_predefined(T& object, typename T::Handle handle) {
    object.constant = std::uint32_t(reinterpret_cast<std::uintptr_t>(handle));
    predefined[object.constant] = &object;
}

// A lock that costs only a branch if a single thread calls. `always` is set for calls that several
// threads may make whatever the thread level of MPI.
class SharedLock {
  public:
    explicit SharedLock(std::mutex& mutex, bool always = false)
        : mutex_(always || shared_by_threads ? &mutex : nullptr) {
        if (mutex_ != nullptr) mutex_->lock();
    }
    ~SharedLock() {
        if (mutex_ != nullptr) mutex_->unlock();
    }
    SharedLock(const SharedLock&) = delete;
    SharedLock& operator=(const SharedLock&) = delete;

  private:
    std::mutex* mutex_;
};

// Objects of one class; never destroyed.
template <class T>
class Slab {
  public:
    static Slab& only() {
        static Slab* const slab = std::make_unique<Slab>().release();
        return *slab;
    }

    template <class... Arguments>
    T& make(Arguments&&... arguments) {
        std::byte* const slot = take();
        try {
            return *::new (slot) T(std::forward<Arguments>(arguments)...);
        } catch (...) {
            give(slot);
            throw;
        }
    }
    void end(T& object) {
        auto* const slot = reinterpret_cast<std::byte*>(&object);
        object.~T();
        give(slot);
    }
    // The number of live objects; MPI_Finalize checks it.
    std::size_t living() const { return living_; }
    template <class Visit>
    void for_each(Visit&& visit) {
        for (std::byte* const chunk : chunks_)
            for (std::size_t i = 0; i < chunk_size; ++i) {
                auto* const dead = reinterpret_cast<Dead*>(chunk + i * sizeof(Slot));
                if (dead->kind != Kind::dead) visit(*reinterpret_cast<T*>(dead));
            }
    }

  private:
    static constexpr std::size_t chunk_size = 64;
    struct Dead {
        Kind kind = Kind::dead;
        Dead* next = nullptr;
    };
    static_assert(alignof(Dead) % ObjectMemory::alignment == 0);
    struct alignas(T) alignas(Dead) Slot {
        std::byte bytes[sizeof(T) > sizeof(Dead) ? sizeof(T) : sizeof(Dead)];
    };

    static constexpr bool at_any_time = requires { T::at_any_time; };

    std::byte* take() {
        const SharedLock lock(mutex_, at_any_time);
        if (free_ == nullptr) grow();
        Dead* const slot = std::exchange(free_, free_->next);
        ++living_;
        return reinterpret_cast<std::byte*>(slot);
    }
    void give(std::byte* slot) {
        const SharedLock lock(mutex_, at_any_time);
        auto* const dead = ::new (slot) Dead;
        dead->next = std::exchange(free_, dead);
        --living_;
    }
    void grow() {
        std::byte* const chunk = ObjectMemory::take(chunk_size * sizeof(Slot));
        chunks_.push_back(chunk);
        for (std::size_t i = chunk_size; i-- > 0;) {
            auto* const dead = ::new (chunk + i * sizeof(Slot)) Dead;
            dead->next = std::exchange(free_, dead);
        }
    }

    std::mutex mutex_;
    Dead* free_ = nullptr;
    std::size_t living_ = 0;
    std::vector<std::byte*> chunks_;
};

template <class T, class... Arguments>
T& make(Arguments&&... arguments) {
    return Slab<T>::only().make(std::forward<Arguments>(arguments)...);
}

// Adds a reference to the object.
template <class T>
T& retain(T& object) {
    if (shared_by_threads) [[unlikely]]
        object.references.fetch_add(1, std::memory_order_relaxed);
    else
        object.references.store(object.references.load(std::memory_order_relaxed) + 1,
                                std::memory_order_relaxed);
    return object;
}

// The rare part of release(), kept apart from the code that every message executes.
template <class T>
[[gnu::noinline, gnu::cold]] void end(T& object) {
    Slab<T>::only().end(object);
}

// Removes a reference; the last one ends the object. Predefined objects hold a reference to
// themselves and never end.
template <class T>
void release(T& object) {
    int left = 0;
    if (shared_by_threads) [[unlikely]] {
        left = object.references.fetch_sub(1, std::memory_order_acq_rel) - 1;
    } else {
        left = object.references.load(std::memory_order_relaxed) - 1;
        object.references.store(left, std::memory_order_relaxed);
    }
    if (left == 0) [[unlikely]]
        end(object);
}

// Holds a reference for a scope or an object.
template <class T>
class Reference {
  public:
    Reference() = default;
    explicit Reference(T& object) : object_(&retain(object)) {}
    Reference(const Reference& other) : object_(other.object_) {
        if (object_ != nullptr) retain(*object_);
    }
    Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Reference& operator=(Reference other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Reference() {
        if (object_ != nullptr) release(*object_);
    }
    T* get() const { return object_; }
    T& operator*() const { return *object_; }
    T* operator->() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }
    void reset() { *this = Reference(); }
    // Equivalent to assigning a new reference. Precondition: it holds none.
    void hold(T& object) { object_ = &retain(object); }

  private:
    T* object_ = nullptr;
};

}  // namespace torusmp::mpi
