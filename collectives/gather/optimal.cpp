// SPDX-License-Identifier: BSD-3-Clause
// The reverse of the optimal scatter: the blocks of a region travel along its tree, and each member
// puts its own block and the blocks it receives into common frames.
#include <algorithm>
#include <cstring>

#include "collectives/algorithm/framed.h"
#include "collectives/gather/gather.h"

namespace torusmp::collectives::gather {
namespace {

class Optimal final : public AlgorithmOf<Arguments, Framed> {
  public:
    using AlgorithmOf::AlgorithmOf;

    void start() override {
        put_ = 0;
        regions_ = &group().routes().regions(group().place_of(call_.root));
        lay_streams(*regions_, Flow::up);
        own_is_put_ = at_root();
        if (!at_root()) {
            if (goes_apart(call_.out_bytes)) apart_.members.push_back(call_.root);
            return lay_requests(1, 0);
        }
        if (!call_.keep_own_block()) cut_short(call_.root);
        const auto others = std::size_t(group().size()) - 1;
        // Filled in as members announce that their blocks come apart.
        apart_.members.reserve(others);
        lay_requests(0, std::min(apart_window, others));
    }

  private:
    bool move() override {
        if (!own_is_put_) put_own_block();
        for (Inlet& inlet : inlets_) take_frames(inlet);
        if (at_root())
            receive_apart([this](int member) { return call_.place_of(member); });
        else
            send_apart([this](int) { return call_.own_block(); });
        if (failed() || !own_is_put_ || !streams_complete() || !apart_.complete()) return false;
        return end_well();
    }

    void put_own_block() {
        Outlet* outlet = outlet_of(regions_->own_region);
        own_is_put_ = put_block(*outlet, group().place(), call_.out, call_.out_bytes, put_);
    }

    Outlet* outlet_of(int region) {
        for (Outlet& outlet : outlets_)
            if (outlet.to.region == region) return &outlet;
        return nullptr;
    }

    bool deliver(Inlet& inlet, const Piece& piece) override {
        const auto from = std::size_t(&inlet - inlets_.data());
        if (regions_->child_to[piece.place] != std::int8_t(from)) return refuse(inlet);
        if (at_root()) return take(piece, inlet.reader.bytes()) || refuse(inlet);
        // The own block goes first, so that the link is busy while others arrive.
        Outlet* outlet = outlet_of(inlet.from.region);
        if (outlet->to.region == regions_->own_region && !own_is_put_) return false;
        if (outlet->left == 0) return refuse(inlet);
        return put(*outlet, piece, inlet.reader.bytes());
    }

    // At the root. Returns false for an invalid piece.
    bool take(const Piece& piece, const std::byte* bytes) {
        const int member = group().member_at(int(piece.place));
        if (piece.is_apart()) {
            if (!piece.is_last() || piece.bytes != 0 ||
                apart_.members.size() + 1 == std::size_t(group().size()))
                return false;
            apart_.members.push_back(member);
            return true;
        }
        const std::size_t room = call_.in_blocks.size(member);
        if (piece.offset() > room || piece.bytes > room - piece.offset()) {
            cut_short(member);
        } else if (piece.bytes != 0) {
            std::memcpy(call_.in + call_.in_blocks.offset(member) + piece.offset(), bytes,
                        piece.bytes);
        }
        return true;
    }
    bool at_root() const { return group().member() == call_.root; }

    const Regions* regions_ = nullptr;
    std::size_t put_ = 0;  // bytes of the own block
    bool own_is_put_ = false;
};

}  // namespace

extern AlgorithmMaker<Arguments> optimal = make_algorithm<Optimal>;

}  // namespace torusmp::collectives::gather
