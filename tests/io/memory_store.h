// SPDX-License-Identifier: BSD-3-Clause
// A file in memory that fails on request, and whose transfers go on in the background on request.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "io/store.h"

namespace torusmp::io::testing {

class MemoryStore final : public Store {
  public:
    std::vector<std::byte> bytes;
    int write_error = 0;    // of every write
    Offset shrunk_to = -1;  // reads end here, whatever size() says; negative: they do not
    std::size_t calls = 0;
    // Whether a transfer that has begun ends now; empty: each ends when it begins.
    std::function<bool()> ends_now;
    std::vector<Transfer*> under_way;

    Outcome read(std::byte* memory, std::size_t count, Offset at) override {
        ++calls;
        const auto end = shrunk_to >= 0 ? std::size_t(shrunk_to) : bytes.size();
        const std::size_t got = std::size_t(at) >= end ? 0 : std::min(count, end - std::size_t(at));
        if (got != 0) std::memcpy(memory, bytes.data() + at, got);
        return {got, 0};
    }
    Outcome write(const std::byte* memory, std::size_t count, Offset at) override {
        ++calls;
        if (write_error != 0) return {0, write_error};
        if (bytes.size() < std::size_t(at) + count) bytes.resize(std::size_t(at) + count);
        std::memcpy(bytes.data() + at, memory, count);
        return {count, 0};
    }
    void begin(Transfer& transfer) override {
        if (ends_now == nullptr) return Store::begin(transfer);
        under_way.push_back(&transfer);
    }
    // Memory is read or written at the end, so that it must be in place until then.
    void take_ended(bool wait) override {
        for (std::size_t i = under_way.size(); i-- != 0;) {
            if (!wait && !ends_now()) continue;
            wait = false;
            Store::begin(*under_way[i]);
            under_way.erase(under_way.begin() + std::ptrdiff_t(i));
        }
    }
    Offset size() override { return Offset(bytes.size()); }
    int resize(Offset size) override {
        bytes.resize(std::size_t(size));
        return 0;
    }
    int reserve(Offset) override { return 0; }
    int flush() override { return 0; }
    int lock(Offset, Offset, bool) override { return 0; }
    int unlock(Offset, Offset) override { return 0; }
};

}  // namespace torusmp::io::testing
