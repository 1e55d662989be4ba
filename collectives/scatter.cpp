#include "collectives/scatter.h"

#include <algorithm>
#include <cstring>

namespace torusmp::collectives {

void Scatter::start(void* in, std::size_t in_bytes, const void* out, const Blocks& out_blocks,
                    int root, ScatterForm form) {
    in_ = static_cast<std::byte*>(in);
    in_bytes_ = in_bytes;
    out_ = static_cast<const std::byte*>(out);
    out_blocks_ = out_blocks;
    root_ = root;
    taken_ = 0;
    // Of no size: members know their own block alone, and have to agree.
    if (form == ScatterForm::automatic)
        form = ScatterForm(group().form(config::Collective::scatter, 0));
    const bool optimal = form == ScatterForm::optimal;
    regions_ = optimal ? &group().regions(group().place_of(root)) : nullptr;
    lay_streams(regions_, Flow::down);
    apart_.nodes.clear();
    if (group().node() == root) {
        start_root();
    } else {
        if (!optimal) apart_.nodes.push_back(root);
        lay_apart(0, 1);
    }
    begin("scatter", {root});
}

void Scatter::start_root() {
    keep_own_block();
    cursors_.assign(outlets_.size(), {});
    if (regions_ == nullptr) {
        for (int node = 0; node < group().size(); ++node)
            if (node != root_) apart_.nodes.push_back(node);
    } else {
        // The furthest of each region, then the next of each.
        std::size_t longest = 0;
        for (const auto& order : regions_->order) longest = std::max(longest, order.size());
        for (std::size_t i = 0; i < longest; ++i)
            for (const auto& order : regions_->order) {
                if (i >= order.size()) continue;
                const int node = group().node_at(order[i]);
                if (goes_apart(out_blocks_.size(node))) apart_.nodes.push_back(node);
            }
    }
    lay_apart(std::min(apart_window, apart_.nodes.size()), 0);
}

void Scatter::keep_own_block() {
    if (in_ == nullptr) return;
    const std::size_t bytes = out_blocks_.size(root_);
    if (bytes > in_bytes_) return cut_short(root_);
    if (bytes != 0) std::memcpy(in_, out_ + out_blocks_.offset(root_), bytes);
}

core::Buffer Scatter::block_of(int node) const {
    if (group().node() != root_) return {in_, in_bytes_};
    return {out_ + out_blocks_.offset(node), out_blocks_.size(node)};
}

bool Scatter::move() {
    const auto block = [this](int node) { return block_of(node); };
    if (group().node() == root_) {
        for (std::size_t child = 0; child < outlets_.size(); ++child) fill(child);
        send_apart(block);
    } else {
        for (Inlet& inlet : inlets_) take_frames(inlet);
        flush_idle();
        receive_apart(block);
    }
    if (failed() || !streams_complete() || !apart_.complete()) return false;
    return end_well();
}

// As many frames as may be under way to one region.
void Scatter::fill(std::size_t child) {
    const std::vector<int>& order = regions_->order[child];
    Cursor& cursor = cursors_[child];
    for (; cursor.place < order.size(); ++cursor.place, cursor.offset = 0) {
        const int place = order[cursor.place];
        const core::Buffer block = block_of(group().node_at(place));
        if (!put_block(outlets_[child], place, block.base, block.bytes, cursor.offset)) return;
    }
}

bool Scatter::deliver(Inlet& inlet, const Piece& piece) {
    const int place = int(piece.place);
    if (place == group().place()) {
        const bool ours = inlet.from.region == regions_->own_region;
        return (ours && take_own(piece, inlet.reader.bytes())) || refuse(inlet);
    }
    const std::int8_t child = regions_->child_to[piece.place];
    if (child == Regions::nowhere) return refuse(inlet);
    Outlet& outlet = outlets_[std::size_t(child)];
    if (outlet.to.region != inlet.from.region || outlet.left == 0) return refuse(inlet);
    return put(outlet, piece, inlet.reader.bytes());
}

// False: a piece that is not the next one of the block.
bool Scatter::take_own(const Piece& piece, const std::byte* bytes) {
    if (piece.is_apart()) {
        if (!piece.is_last() || piece.bytes != 0 || taken_ != 0 || !apart_.nodes.empty())
            return false;
        apart_.nodes.push_back(root_);
        return true;
    }
    if (piece.offset() != taken_ || !apart_.nodes.empty()) return false;
    taken_ += piece.bytes;
    if (taken_ > in_bytes_)
        cut_short(root_);
    else if (piece.bytes != 0)
        std::memcpy(in_ + piece.offset(), bytes, piece.bytes);
    return true;
}

}  // namespace torusmp::collectives
