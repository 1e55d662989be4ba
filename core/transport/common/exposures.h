// SPDX-License-Identifier: BSD-3-Clause
// The memory that peers may write to, by id. An id has a generation, so that a late write to
// deregistered memory finds nothing, whatever is there now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assert.h"
#include "core/transport/api/memory.h"

namespace torusmp::transport {

class Exposures {
  public:
    // The index of an id, for tables by id: a small number, reused after the id was removed.
    static std::size_t index_of(std::uint64_t id) { return std::uint32_t(id); }

    std::uint64_t add(Bytes memory) {
        if (free_.empty()) {
            free_.push_back(std::uint32_t(entries_.size()));
            entries_.push_back({});
        }
        const std::uint32_t index = free_.back();
        free_.pop_back();
        TORUSMP_ASSERT(entries_[index].memory.empty(), index, entries_[index].memory.size());
        entries_[index].memory = memory;
        return id_of(index);
    }
    // Empty if the memory is not exposed, or [offset, offset + bytes) is not inside it.
    Bytes find(std::uint64_t id, std::uint64_t offset, std::uint64_t bytes) const {
        const auto index = std::uint32_t(id);
        if (index >= entries_.size() || id_of(index) != id) return {};
        const Bytes memory = entries_[index].memory;
        if (offset > memory.size() || bytes > memory.size() - offset) return {};
        return memory.subspan(offset, bytes);
    }
    // [address, address + bytes), if it lies in memory of an index for which `fits` returns true.
    template <class Fits>
    Bytes find_at(std::uint64_t address, std::uint64_t bytes, Fits&& fits) const {
        for (std::size_t index = 0; index < entries_.size(); ++index) {
            const Bytes memory = entries_[index].memory;
            const std::uint64_t offset = address - reinterpret_cast<std::uintptr_t>(memory.data());
            if (!memory.empty() && offset <= memory.size() && bytes <= memory.size() - offset &&
                fits(index))
                return memory.subspan(offset, bytes);
        }
        return {};
    }
    void remove(std::uint64_t id) {
        const auto index = std::uint32_t(id);
        if (index >= entries_.size() || id_of(index) != id) return;
        entries_[index].memory = {};
        ++entries_[index].generation;
        free_.push_back(index);
        TORUSMP_ASSERT(free_.size() <= entries_.size(), index, free_.size(), entries_.size());
    }

  private:
    struct Entry {
        Bytes memory;
        std::uint32_t generation = 1;
    };
    std::uint64_t id_of(std::uint32_t index) const {
        return index | std::uint64_t(entries_[index].generation) << 32;
    }

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
};

}  // namespace torusmp::transport
