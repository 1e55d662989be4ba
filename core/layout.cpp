#include "core/layout.h"

#include <algorithm>
#include <utility>

namespace torusmp::core {

Layout::Layout(std::vector<Run> runs) : runs_(std::move(runs)) {
    std::erase_if(runs_, [](const Run& run) { return run.bytes == 0 || run.count == 0; });
    // Blocks that touch are one block: fewer and larger copies, and more that counts as contiguous.
    for (Run& run : runs_) {
        if (run.count > 1 && run.stride == std::ptrdiff_t(run.bytes)) {
            run.bytes *= run.count;
            run.count = 1;
        }
    }
    std::vector<Run> merged;
    for (const Run& run : runs_) {
        if (!merged.empty() && run.count == 1 && merged.back().count == 1 &&
            merged.back().offset + std::ptrdiff_t(merged.back().bytes) == run.offset)
            merged.back().bytes += run.bytes;
        else
            merged.push_back(run);
    }
    runs_ = std::move(merged);
    for (const Run& run : runs_) {
        starts_.push_back(size_);
        size_ += run.bytes * run.count;
    }
    contiguous_ = runs_.empty() || (runs_.size() == 1 && runs_[0].count == 1);
}

// Calls copy(offset from base, offset from `from`, bytes) for each piece of the message.
template <class Copy>
void Layout::walk(std::size_t from, std::size_t bytes, Copy&& copy) const {
    if (bytes == 0) return;
    auto which =
        std::size_t(std::upper_bound(starts_.begin(), starts_.end(), from) - starts_.begin() - 1);
    std::size_t inside = from - starts_[which];
    for (std::size_t done = 0; done < bytes; ++which, inside = 0) {
        const Run& run = runs_[which];
        std::size_t block = inside / run.bytes;
        std::size_t skip = inside % run.bytes;
        for (; block < run.count && done < bytes; ++block, skip = 0) {
            const std::size_t piece = std::min(run.bytes - skip, bytes - done);
            copy(run.offset + std::ptrdiff_t(block) * run.stride + std::ptrdiff_t(skip), done,
                 piece);
            done += piece;
        }
    }
}

void Layout::pack(const std::byte* base, std::size_t from, std::byte* out,
                  std::size_t bytes) const {
    walk(from, bytes, [&](std::ptrdiff_t at, std::size_t to, std::size_t piece) {
        std::memcpy(out + to, base + at, piece);
    });
}

void Layout::unpack(std::byte* base, std::size_t from, const std::byte* in,
                    std::size_t bytes) const {
    walk(from, bytes, [&](std::ptrdiff_t at, std::size_t to, std::size_t piece) {
        std::memcpy(base + at, in + to, piece);
    });
}

}  // namespace torusmp::core
