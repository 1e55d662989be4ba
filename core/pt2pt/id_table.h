// SPDX-License-Identifier: BSD-3-Clause
// Short ids for objects that a peer may refer to: an index and a generation, so that an id from a
// late or forged packet finds nothing instead of another object.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/assert.h"

namespace torusmp::core {

template <class T>
class IdTable {
  public:
    // Never returns 0. Throws std::length_error beyond a million objects at a time.
    std::uint32_t add(T& object) {
        if (free_.empty()) {
            if (entries_.size() > index_mask)
                throw std::length_error("more than 1048576 large messages at a time");
            free_.push_back(std::uint32_t(entries_.size()));
            entries_.push_back({});
            free_.reserve(entries_.capacity());  // remove() must not allocate
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        TORUSMP_ASSERT(entries_[index].object == nullptr, index, entries_[index].generation);
        TORUSMP_ASSERT(id_of(index) != 0, index, entries_[index].generation);
        entries_[index].object = &object;
        return id_of(index);
    }

    T* find(std::uint32_t id) const {
        const std::uint32_t index = id & index_mask;
        if (index >= entries_.size() || id_of(index) != id) return nullptr;
        return entries_[index].object;
    }

    void remove(std::uint32_t id) {
        if (find(id) == nullptr) return;
        Entry& entry = entries_[id & index_mask];
        entry.object = nullptr;
        entry.generation = (entry.generation + 1) & generation_mask;
        if (entry.generation == 0) entry.generation = 1;  // index 0 must not give the id 0
        free_.push_back(id & index_mask);
        TORUSMP_ASSERT(free_.size() <= entries_.size(), id, free_.size(), entries_.size());
    }

    bool empty() const { return free_.size() == entries_.size(); }
    // Whether at least half of the ids are free.
    bool has_room() const { return entries_.size() - free_.size() <= index_mask / 2; }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t i = 0; i < entries_.size(); ++i)
            if (entries_[i].object != nullptr) visit(*entries_[i].object);
    }

  private:
    static constexpr std::uint32_t index_bits = 20;
    static constexpr std::uint32_t index_mask = (1u << index_bits) - 1;
    static constexpr std::uint32_t generation_mask = (1u << (32 - index_bits)) - 1;

    struct Entry {
        T* object = nullptr;
        std::uint32_t generation = 1;
    };
    std::uint32_t id_of(std::uint32_t index) const {
        return index | entries_[index].generation << index_bits;
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
};

}  // namespace torusmp::core
