#include "collectives/gather.h"

#include <algorithm>
#include <cstring>

namespace torusmp::collectives {

void Gather::start(void* in, const Blocks& in_blocks, const void* out, std::size_t out_bytes,
                   int root, GatherForm form) {
    in_ = static_cast<std::byte*>(in);
    in_blocks_ = in_blocks;
    out_ = static_cast<const std::byte*>(out);
    out_bytes_ = out_bytes;
    root_ = root;
    put_ = 0;
    // Of no size: members know their own block alone, and have to agree.
    if (form == GatherForm::automatic)
        form = GatherForm(group().form(config::Collective::gather, 0));
    const bool optimal = form == GatherForm::optimal;
    regions_ = optimal ? &group().regions(group().place_of(root)) : nullptr;
    lay_streams(regions_, Flow::up);
    apart_.nodes.clear();
    own_is_put_ = group().node() == root || !optimal;
    if (group().node() == root) {
        start_root();
    } else {
        if (!optimal || goes_apart(out_bytes)) apart_.nodes.push_back(root);
        lay_apart(1, 0);
    }
    begin("gather", {root});
}

void Gather::start_root() {
    keep_own_block();
    const auto others = std::size_t(group().size()) - 1;
    apart_.nodes.reserve(others);
    if (regions_ == nullptr)
        for (int node = 0; node < group().size(); ++node)
            if (node != root_) apart_.nodes.push_back(node);
    // With frames the nodes are found out as they say that their blocks come apart.
    lay_apart(0, regions_ == nullptr ? others : std::min(apart_window, others));
}

void Gather::keep_own_block() {
    if (out_ == nullptr) return;
    if (out_bytes_ > in_blocks_.size(root_)) return cut_short(root_);
    if (out_bytes_ != 0) std::memcpy(in_ + in_blocks_.offset(root_), out_, out_bytes_);
}

bool Gather::move() {
    if (!own_is_put_) put_own_block();
    for (Inlet& inlet : inlets_) take_frames(inlet);
    if (group().node() == root_)
        receive_apart([this](int node) {
            return core::Buffer{in_ + in_blocks_.offset(node), in_blocks_.size(node)};
        });
    else
        send_apart([this](int) { return core::Buffer{out_, out_bytes_}; });
    if (failed() || !own_is_put_ || !streams_complete() || !apart_.complete()) return false;
    return end_well();
}

void Gather::put_own_block() {
    Outlet* outlet = outlet_of(regions_->own_region);
    own_is_put_ = put_block(*outlet, group().place(), out_, out_bytes_, put_);
}

Framed::Outlet* Gather::outlet_of(int region) {
    for (Outlet& outlet : outlets_)
        if (outlet.to.region == region) return &outlet;
    return nullptr;
}

bool Gather::deliver(Inlet& inlet, const Piece& piece) {
    const auto from = std::size_t(&inlet - inlets_.data());
    if (regions_->child_to[piece.place] != std::int8_t(from)) return refuse(inlet);
    if (group().node() == root_) return take(piece, inlet.reader.bytes()) || refuse(inlet);
    // Own blocks first, so that the link has something to carry while others come.
    Outlet* outlet = outlet_of(inlet.from.region);
    if (outlet->to.region == regions_->own_region && !own_is_put_) return false;
    if (outlet->left == 0) return refuse(inlet);
    return put(*outlet, piece, inlet.reader.bytes());
}

// At the root. False: a piece that cannot be.
bool Gather::take(const Piece& piece, const std::byte* bytes) {
    const int node = group().node_at(int(piece.place));
    if (piece.is_apart()) {
        if (!piece.is_last() || piece.bytes != 0 ||
            apart_.nodes.size() + 1 == std::size_t(group().size()))
            return false;
        apart_.nodes.push_back(node);
        return true;
    }
    const std::size_t room = in_blocks_.size(node);
    if (piece.offset() > room || piece.bytes > room - piece.offset()) {
        cut_short(node);
    } else if (piece.bytes != 0) {
        std::memcpy(in_ + in_blocks_.offset(node) + piece.offset(), bytes, piece.bytes);
    }
    return true;
}

}  // namespace torusmp::collectives
