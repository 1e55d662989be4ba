// SPDX-License-Identifier: BSD-3-Clause
// The parts of a window of a file that a rank accesses, in the form in which ranks send them to
// aggregators: as runs of stretches with equal length and equal distance. Pure values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/assert.h"
#include "io/store.h"

namespace torusmp::io {

// `count` stretches of `bytes` bytes. The first begins at `offset` in the window, and each further
// one `stride` bytes after the one before. This is the wire format.
struct Run {
    std::int64_t offset;
    std::int64_t bytes;
    std::int64_t count;
    std::int64_t stride;

    std::int64_t end() const { return offset + (count - 1) * stride + bytes; }
    std::int64_t total() const { return count * bytes; }
    // Whether the values, which come from another rank, are a run inside a window of that many
    // bytes.
    bool fits(std::int64_t window) const {
        std::int64_t last = 0, data = 0;
        return offset >= 0 && bytes > 0 && count > 0 && (count == 1 || stride >= bytes) &&
               !__builtin_mul_overflow(count - 1, stride, &last) &&
               !__builtin_mul_overflow(count, bytes, &data) && last <= window - bytes &&
               offset <= window - bytes - last && bytes <= window;
    }
};

class Runs {
  public:
    void clear() { runs_.clear(); }
    // Adds a stretch. Precondition: it lies behind all stretches added so far.
    void add(std::int64_t offset, std::int64_t bytes) {
        TORUSMP_ASSERT(bytes > 0, offset, bytes, runs_.size());
        if (!runs_.empty()) {
            Run& last = runs_.back();
            if (last.count == 1 && last.offset + last.bytes == offset) {
                last.bytes += bytes;
                return;
            }
            if (last.bytes == bytes && last.count == 1) last.stride = offset - last.offset;
            if (last.bytes == bytes && offset == last.offset + last.count * last.stride) {
                ++last.count;
                return;
            }
        }
        runs_.push_back({offset, bytes, 1, 0});
    }
    std::vector<Run>& list() { return runs_; }
    const std::vector<Run>& list() const { return runs_; }

  private:
    std::vector<Run> runs_;
};

// A set of bytes of a window: those that any member reads, or writes.
class Coverage {
  public:
    // Makes it the empty set of a window of that many bytes.
    void reset(std::size_t window) {
        window_ = window;
        bits_.assign((window + 63) / 64, 0);
    }
    // Adds the bytes of a run. Precondition: run.fits(window).
    void mark(const Run& run) {
        std::size_t at = std::size_t(run.offset);
        for (std::int64_t i = 0; i < run.count; ++i, at += std::size_t(run.stride))
            mark(at, at + std::size_t(run.bytes));
    }
    // Calls visit(begin, end) for each stretch of marked bytes, in order; stretches no more than
    // `gap` bytes apart count as one. visit returns false to stop.
    template <class Visit>
    void for_each(std::size_t gap, Visit&& visit) const {
        std::size_t begin = next(0, true);
        while (begin < window_) {
            std::size_t end = next(begin, false);
            std::size_t onward = next(end, true);
            while (onward < window_ && onward - end <= gap) {
                end = next(onward, false);
                onward = next(end, true);
            }
            if (!visit(begin, end)) return;
            begin = onward;
        }
    }

  private:
    void mark(std::size_t begin, std::size_t end) {
        const std::size_t first = begin / 64, last = (end - 1) / 64;
        const std::uint64_t from = ~std::uint64_t{0} << begin % 64;
        const std::uint64_t to = ~std::uint64_t{0} >> (63 - (end - 1) % 64);
        if (first == last) {
            bits_[first] |= from & to;
            return;
        }
        bits_[first] |= from;
        std::memset(bits_.data() + first + 1, 0xff, (last - first - 1) * 8);
        bits_[last] |= to;
    }
    // The first byte from `at` on that is marked, or that is not marked. The size of the window if
    // there is none.
    std::size_t next(std::size_t at, bool marked) const {
        while (at < window_) {
            std::uint64_t word = bits_[at / 64];
            if (!marked) word = ~word;
            word >>= at % 64;
            if (word != 0) return std::min(window_, at + std::size_t(__builtin_ctzll(word)));
            at = (at / 64 + 1) * 64;
        }
        return window_;
    }

    std::size_t window_ = 0;
    std::vector<std::uint64_t> bits_;
};

}  // namespace torusmp::io
