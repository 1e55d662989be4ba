#include "collectives/alltoall.h"

#include <cstring>

namespace torusmp::collectives {

void Alltoall::start(void* in, const void* out, std::size_t block) {
    in_ = static_cast<std::byte*>(in);
    block_ = block;
    const std::size_t total = block * std::size_t(group().size());
    std::byte* memory = scratch_.reserve(2 * total);
    blocks_ = {memory, memory + total};
    current_ = 0;
    if (block > 0)
        for (int place = 0; place < group().size(); ++place)
            std::memcpy(
                blocks_[0] + block * std::size_t(place),
                static_cast<const std::byte*>(out) + block * std::size_t(group().node_at(place)),
                block);
    dimension_ = group().dimensions();
    begin("alltoall");
}

bool Alltoall::step() {
    if (dimension_ < group().dimensions()) current_ = 1 - current_;  // a line is done
    if (dimension_ > 0) {
        --dimension_;
        post_line();
        return true;
    }
    if (block_ > 0)
        for (int place = 0; place < group().size(); ++place)
            std::memcpy(in_ + block_ * std::size_t(group().node_at(place)),
                        blocks_[std::size_t(current_)] + block_ * std::size_t(place), block_);
    return false;
}

void Alltoall::post_line() {
    const int extent = group().extent(dimension_);
    const int here = group().coordinate(dimension_);
    const std::size_t inner = block_ * std::size_t(group().stride(dimension_));
    const std::size_t outer = std::size_t(group().size() / group().stride(dimension_) / extent);

    slabs_.clear();
    for (int c = 0; c < extent; ++c)
        slabs_.emplace_back(
            std::vector<core::Layout::Run>{{std::ptrdiff_t(inner * std::size_t(c)), inner, outer,
                                            std::ptrdiff_t(inner * std::size_t(extent))}});
    std::byte* from = blocks_[std::size_t(current_)];
    std::byte* to = blocks_[std::size_t(1 - current_)];

    for (int k = 1; k < extent; ++k) {
        const int c = (here + extent - k) % extent;
        receive({to, slabs_[std::size_t(c)]}, group().line_rank(dimension_, c));
    }
    for (int k = 1; k < extent; ++k) {
        const int c = (here + k) % extent;
        send({from, slabs_[std::size_t(c)]}, group().line_rank(dimension_, c));
    }
    for (std::size_t i = 0; i < outer && inner > 0; ++i) {
        const std::size_t offset = inner * (i * std::size_t(extent) + std::size_t(here));
        std::memcpy(to + offset, from + offset, inner);
    }
}

}  // namespace torusmp::collectives
