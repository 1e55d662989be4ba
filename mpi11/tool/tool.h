// SPDX-License-Identifier: BSD-3-Clause
// Common parts of the tools interface (MPI-4.1, chapter 15). MPI_T functions may be called at any
// time, from any thread. They return error codes and never call an error handler.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

#include "mpi11/mpi.h"

namespace torusmp::mpi::tool {

// Thrown inside a function that has to return this error code.
struct Refusal {
    int code;
};
[[noreturn]] inline void refuse(int code) {
    throw Refusal{code};
}

// Guards all state of the interface except events, which have their own lock (events.h).
std::mutex& guard();
bool initialized();

// Runs the body of an MPI_T function under the guard. Returns an error code outside of
// MPI_T_init_thread and MPI_T_finalize.
template <class Body>
int call(Body&& body) noexcept {
    try {
        const std::lock_guard lock(guard());
        if (!initialized()) return MPI_T_ERR_NOT_INITIALIZED;
        body();
        return MPI_SUCCESS;
    } catch (const Refusal& refusal) {
        return refusal.code;
    } catch (const std::bad_alloc&) {
        return MPI_T_ERR_MEMORY;
    } catch (const std::exception&) {
        return MPI_T_ERR_INVALID;
    }
}

template <class T>
void put(T* out, const T& value) {
    if (out != nullptr) *out = value;
}
template <class T>
T& required(T* out) {
    if (out == nullptr) refuse(MPI_T_ERR_INVALID);
    return *out;
}

// Copies a text to `out`, which has room for *length characters, and cuts it if it is longer. Sets
// *length to the length of the whole text. Both lengths include the null character. If `out` is
// null, only sets *length.
inline void put_text(std::string_view text, char* out, int* length) {
    if (length == nullptr) return;
    if (out != nullptr && *length > 0) {
        const std::size_t copied = std::min(text.size(), std::size_t(*length) - 1);
        std::copy_n(text.data(), copied, out);
        out[copied] = '\0';
    }
    *length = int(text.size()) + 1;
}

template <class List>
auto& at(List& list, int index) {
    if (index < 0 || std::size_t(index) >= std::size(list)) refuse(MPI_T_ERR_INVALID_INDEX);
    return list[std::size_t(index)];
}

// The index of the first element that matches. Throws Refusal if there is none.
template <class List, class Matches>
int index_of(const List& list, Matches&& matches) {
    const auto found = std::find_if(std::begin(list), std::end(list), matches);
    if (found == std::end(list)) refuse(MPI_T_ERR_INVALID_NAME);
    return int(found - std::begin(list));
}

// Copies at most `length` numbers of the list to `indices`.
inline void put_indices(const std::vector<int>& list, int length, int indices[]) {
    for (std::size_t i = 0; i < list.size() && int(i) < length; ++i) (&required(indices))[i] = list[i];
}

// The objects behind the handles of one kind.
template <class T, class Handle>
class Handles {
  public:
    Handle add(std::unique_ptr<T> object) {
        objects_.push_back(std::move(object));
        return reinterpret_cast<Handle>(objects_.back().get());
    }
    // Throws Refusal with `error` for an unknown handle.
    T& find(Handle handle, int error) {
        for (const auto& object : objects_)
            if (reinterpret_cast<Handle>(object.get()) == handle) return *object;
        refuse(error);
    }
    void end(Handle handle, int error) {
        T& object = find(handle, error);
        std::erase_if(objects_, [&](const auto& held) { return held.get() == &object; });
    }
    const std::vector<std::unique_ptr<T>>& all() const { return objects_; }

  private:
    std::vector<std::unique_ptr<T>> objects_;
};

// The enumeration of the states of a link.
MPI_T_enum link_states();
enum LinkState : int { link_absent, link_on_cable, link_on_detour, link_down };

// The members of a category, as indices.
std::vector<int> control_variables_of(std::string_view category);
std::vector<int> performance_variables_of(std::string_view category);
std::vector<int> events_of(std::string_view category);

// Saves the values of the performance variables. To be called before the process leaves the job.
void keep_counters();

}  // namespace torusmp::mpi::tool
