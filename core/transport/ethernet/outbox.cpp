// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/ethernet/outbox.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace torusmp::transport::ethernet {

Outbox::Outbox(unsigned window) : mask_(std::bit_ceil(window) - 1), slots_(mask_ + 1) {}

void Outbox::size_frames(std::size_t most_bytes) {
    TORUSMP_ASSERT(kept_ == 0 && filled_ == 0, kept_, filled_, oldest_, next_);
    most_ = most_bytes;
    stride_ = head_room + (most_bytes + 15) / 16 * 16;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(stride_ * slots_.size());
}

bool Outbox::begin() {
    if (filled_ != 0) return true;
    if (next_ - oldest_ > mask_ || most_ == 0) return false;
    filled_ = sizeof(FrameHeader);
    return true;
}

std::byte* Outbox::extend(std::size_t bytes) {
    if (!begin() || bytes > most_ - filled_) return nullptr;
    std::byte* const room = at(next_) + filled_;
    filled_ += bytes;
    TORUSMP_ASSERT(filled_ <= most_, filled_, most_, bytes);
    return room;
}

std::uint64_t Outbox::end() {
    TORUSMP_ASSERT(is_filling() && next_ - oldest_ <= mask_, filled_, oldest_, next_, mask_);
    slot(next_) = {next_, next_ + 1};
    ++kept_;
    filled_ = 0;
    return next_++;
}

std::byte* Outbox::frame(std::uint64_t number) {
    return number >= oldest_ && slot(number).number == number ? at(number) : nullptr;
}

bool Outbox::confirm(std::uint64_t below) {
    if (below > next_) return false;
    TORUSMP_ASSERT(kept_ <= next_ - oldest_ && kept_ <= slots_.size(), kept_, oldest_, next_);
    for (; oldest_ < below; ++oldest_)
        if (slot(oldest_).number == oldest_) --kept_;
    return true;
}

void Outbox::forget(std::uint64_t number) {
    TORUSMP_ASSERT(slot(number).number == number && kept_ != 0, number, slot(number).number, kept_);
    slot(number).number = ~std::uint64_t{0};
    --kept_;
}

bool Outbox::is_lost(std::uint64_t number, std::uint64_t newest) {
    if (frame(number) == nullptr || slot(number).sent_before > newest) return false;
    slot(number).sent_before = next_;
    return true;
}

}  // namespace torusmp::transport::ethernet
