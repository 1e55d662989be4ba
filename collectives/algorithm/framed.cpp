// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithm/framed.h"

#include <algorithm>

namespace torusmp::collectives {
namespace {

// Frames in flight per link: enough to keep it busy while the next one is filled.
constexpr std::size_t frame_window = 4;

// A frame stays below the eager limit, so that a receive for frames of any length needs no
// handshake. These bounds apply where the limit is unusually low or high.
constexpr std::size_t smallest_frame = 256;
constexpr std::size_t largest_frame = 64 * 1024;

}  // namespace

Framed::Framed(Messages& messages)
    : ApartBlocks(messages),
      capacity_(std::clamp(group().runtime().options().eager_limit, smallest_frame + 1,
                           largest_frame + 1) -
                1) {}

void Framed::lay_streams(const Regions& regions, Flow flow) {
    expect(Fit::framed);
    begin_blocks();
    outlets_.clear();
    inlets_.clear();
    const auto& out = flow == Flow::down ? regions.children : regions.parents;
    const auto& in = flow == Flow::down ? regions.parents : regions.children;
    const std::size_t room = Scratch::rounded(capacity_);
    std::byte* memory = scratch_.reserve(room * (frame_window * out.size() + in.size()));
    for (const Regions::Branch& branch : out) {
        Outlet outlet;
        outlet.to = branch;
        outlet.request = outlets_.size() * frame_window;
        outlet.slots = memory + outlet.request * room;
        outlet.left = branch.members;
        outlets_.push_back(outlet);
    }
    for (const Regions::Branch& branch : in) {
        Inlet inlet;
        inlet.from = branch;
        inlet.request = inlets_.size();
        inlet.slot = memory + (frame_window * out.size() + inlet.request) * room;
        inlet.left = branch.members;
        inlets_.push_back(inlet);
    }
}

void Framed::lay_requests(std::size_t sends, std::size_t receives) {
    lay_apart(sends != 0 ? frame_window * outlets_.size() : inlets_.size(),
              std::max(sends, receives));
    use_requests(frame_window * outlets_.size() + sends, inlets_.size() + receives);
}

void Framed::take_frames(Inlet& inlet) {
    while (!failed()) {
        if (inlet.reader.at_end()) {
            if (inlet.left == 0) return;
            if (!inlet.posted)
                receive_by(inlet.request, inlet.from.direction, {inlet.slot, capacity_},
                           inlet.from.region);
            inlet.posted = true;
            if (!received(inlet.request) || failed()) return;
            inlet.posted = false;
            inlet.reader = FrameReader(inlet.slot, bytes_received(inlet.request));
            continue;
        }
        Piece piece;
        if (inlet.left == 0 || !inlet.reader.peek(piece) ||
            piece.place >= std::uint32_t(group().size())) {
            refuse(inlet);
            return;
        }
        if (!deliver(inlet, piece) || failed()) return;
        if (piece.is_last()) --inlet.left;
        inlet.reader.skip(piece);
    }
}

bool Framed::refuse(const Inlet& inlet) {
    break_off(core::Error::protocol, group().neighbour(inlet.from.direction));
    return false;
}

void Framed::retire(Outlet& outlet) {
    while (outlet.done < outlet.posted && sent(outlet.request + outlet.done % frame_window))
        ++outlet.done;
}

bool Framed::open(Outlet& outlet) {
    if (outlet.open) return true;
    retire(outlet);
    if (outlet.posted == outlet.done + frame_window || failed()) return false;
    outlet.writer = FrameWriter(
        outlet.slots + outlet.posted % frame_window * Scratch::rounded(capacity_), capacity_);
    return outlet.open = true;
}

void Framed::close(Outlet& outlet) {
    send_by(outlet.request + outlet.posted % frame_window, outlet.to.direction,
            {outlet.writer.memory(), outlet.writer.used()}, outlet.to.region);
    ++outlet.posted;
    outlet.open = false;
    retire(outlet);
}

bool Framed::put(Outlet& outlet, const Piece& piece, const std::byte* bytes) {
    if (!open(outlet)) return false;
    const std::size_t room = outlet.writer.room();
    if (room == 0 || room < piece.bytes) {
        close(outlet);
        if (!open(outlet)) return false;
    }
    outlet.writer.add(piece, bytes);
    if (piece.is_last() && --outlet.left == 0) close(outlet);
    return true;
}

bool Framed::put_block(Outlet& outlet, int place, const std::byte* block, std::size_t bytes,
                       std::size_t& offset) {
    if (goes_apart(bytes))
        return put(outlet, {std::uint32_t(place), 0, Piece::last | Piece::apart}, block);
    while (open(outlet)) {
        const std::size_t rest = bytes - offset;
        const std::size_t room = outlet.writer.room();
        // Each piece costs every member on its path. So a piece that would fit into one frame is
        // not split to fill another, and a longer one is not split if little room is left.
        if (room < rest && (rest <= capacity_ - sizeof(Piece) || room < capacity_ / 4)) {
            close(outlet);
            continue;
        }
        const std::size_t part = std::min(rest, room);
        const std::uint64_t flags = part == rest ? Piece::last : 0;
        const Piece piece{std::uint32_t(place), std::uint32_t(part), offset | flags};
        if (!put(outlet, piece, block + offset)) return false;
        offset += part;
        if (part == rest) return true;
    }
    return false;
}

void Framed::flush_idle() {
    for (Outlet& outlet : outlets_) {
        retire(outlet);
        if (outlet.open && outlet.writer.used() != 0 && outlet.done == outlet.posted && !failed())
            close(outlet);
    }
}

bool Framed::streams_complete() {
    for (Outlet& outlet : outlets_) {
        retire(outlet);
        if (outlet.left != 0 || outlet.done != outlet.posted) return false;
    }
    for (const Inlet& inlet : inlets_)
        if (inlet.left != 0 || !inlet.reader.at_end()) return false;
    return true;
}

}  // namespace torusmp::collectives
