// SPDX-License-Identifier: BSD-3-Clause
// The grid is split into as many regions as the root has links. The root sends to all of them in
// parallel, to the furthest members first; small blocks of a region share frames.
#include <algorithm>
#include <cstring>

#include "collectives/algorithm/framed.h"
#include "collectives/scatter/scatter.h"

namespace torusmp::collectives::scatter {
namespace {

class Optimal final : public AlgorithmOf<Arguments, Framed> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        taken_ = 0;
        regions_ = &group().routes().regions(group().place_of(call_.root));
        lay_streams(*regions_, Flow::down);
        if (!at_root()) return lay_requests(0, 1);
        if (!call_.keep_own_block()) cut_short(call_.root);
        cursors_.assign(outlets_.size(), {});
        list_apart();
        lay_requests(std::min(apart_window, apart_.members.size()), 0);
    }

  private:
    // Lists, on the root, the furthest member of each region, then the next of each.
    void list_apart() {
        std::size_t longest = 0;
        for (const auto& order : regions_->order) longest = std::max(longest, order.size());
        for (std::size_t i = 0; i < longest; ++i)
            for (const auto& order : regions_->order) {
                if (i >= order.size()) continue;
                const int member = group().member_at(order[i]);
                if (goes_apart(call_.out_blocks.size(member))) apart_.members.push_back(member);
            }
    }

    bool move() override {
        if (at_root()) {
            for (std::size_t child = 0; child < outlets_.size(); ++child) fill(child);
            send_apart([this](int member) { return call_.block_of(member); });
        } else {
            for (Inlet& inlet : inlets_) take_frames(inlet);
            flush_idle();
            receive_apart([this](int) { return core::Buffer{call_.in, call_.in_bytes}; });
        }
        if (failed() || !streams_complete() || !apart_.complete()) return false;
        return end_well();
    }

    // Fills, on the root, as many frames as may be in flight to one region.
    void fill(std::size_t child) {
        const std::vector<int>& order = regions_->order[child];
        Cursor& cursor = cursors_[child];
        for (; cursor.place < order.size(); ++cursor.place, cursor.offset = 0) {
            const int place = order[cursor.place];
            const core::Buffer block = call_.block_of(group().member_at(place));
            if (!put_block(outlets_[child], place, block.base, block.bytes, cursor.offset)) return;
        }
    }

    bool deliver(Inlet& inlet, const Piece& piece) override {
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

    // Returns false if the piece is not the next one of the block.
    bool take_own(const Piece& piece, const std::byte* bytes) {
        if (piece.is_apart()) {
            if (!piece.is_last() || piece.bytes != 0 || taken_ != 0 || !apart_.members.empty())
                return false;
            apart_.members.push_back(call_.root);
            return true;
        }
        if (piece.offset() != taken_ || !apart_.members.empty()) return false;
        taken_ += piece.bytes;
        if (taken_ > call_.in_bytes)
            cut_short(call_.root);
        else if (piece.bytes != 0)
            std::memcpy(call_.in + piece.offset(), bytes, piece.bytes);
        return true;
    }
    bool at_root() const { return group().member() == call_.root; }

    const Regions* regions_ = nullptr;
    // The root's progress for each child.
    struct Cursor {
        std::size_t place = 0;   // in the region's order
        std::size_t offset = 0;  // in that member's block
    };
    std::vector<Cursor> cursors_;
    std::size_t taken_ = 0;  // bytes of the own block
};

}  // namespace

extern AlgorithmMaker<Arguments> optimal = make_algorithm<Optimal>;

}  // namespace torusmp::collectives::scatter
