// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/tree/lasting.h"

#include <algorithm>

#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {
namespace {

// Overhead of a frame in bytes, so that many empty frames are confirmed too.
constexpr std::uint64_t weight_of_frame = 64;

Frame frame_of(LastingFrame&& it) {
    Frame frame;
    frame.header.kind = std::uint32_t(it.kind);
    frame.header.length = it.bytes.size();
    frame.body = std::move(it.bytes);
    return frame;
}

}  // namespace

SharedBytes LastingSender::add(DaemonFrame kind, const SharedBytes& bytes) {
    Packer packer;
    packer.add(std::uint32_t(kind)).add(for_all_).add(last() + 1);
    if (bytes) packer.append(*bytes);
    kept_.push_back(share(packer.take()));
    return kept_.back();
}

bool LastingSender::confirmed(std::uint64_t number) {
    if (number > last()) return false;
    for (; first_ <= number; ++first_) kept_.pop_front();
    return true;
}

LastingFrame decode_lasting(std::span<const std::byte> bytes) {
    Unpacker unpacker(bytes);
    LastingFrame frame;
    frame.kind = DaemonFrame(unpacker.get<std::uint32_t>());
    frame.for_all = unpacker.get<bool>();
    frame.number = unpacker.get<std::uint64_t>();
    const auto rest = unpacker.rest();
    frame.bytes.assign(rest.begin(), rest.end());
    return frame;
}

// ---- a node ----

std::optional<Frame> NodeStreams::take(std::span<const std::byte> lasting) {
    LastingFrame it = decode_lasting(lasting);
    if (!(it.for_all ? all_ : own_).take(it.number)) return std::nullopt;
    return frame_of(std::move(it));
}

SharedBytes NodeStreams::taken() const {
    return share(Packer().add(all_.taken()).add(own_.taken()).take());
}

void NodeStreams::confirmed(std::span<const std::byte> word) {
    if (!up_.confirmed(Unpacker(word).get<std::uint64_t>())) throw PackingError();
}

// ---- the head ----

SharedBytes HeadStreams::add(std::uint32_t node, DaemonFrame kind, const SharedBytes& bytes) {
    return node == every_node ? all_.add(kind, bytes) : nodes_[node].own.add(kind, bytes);
}

std::optional<Frame> HeadStreams::take(int node, std::span<const std::byte> lasting) {
    LastingFrame it = decode_lasting(lasting);
    Node& from = nodes_[std::size_t(node)];
    if (!from.up.take(it.number)) return std::nullopt;
    from.unconfirmed += it.bytes.size() + weight_of_frame;
    Frame frame = frame_of(std::move(it));
    frame.header.sequence = std::uint32_t(node);
    return frame;
}

SharedBytes HeadStreams::taken(int node) {
    Node& it = nodes_[std::size_t(node)];
    it.unconfirmed = 0;
    return share(Packer().add(it.up.taken()).take());
}

void HeadStreams::confirmed(int node, std::span<const std::byte> word) {
    Unpacker unpacker(word);
    const auto all = unpacker.get<std::uint64_t>();
    const auto own = unpacker.get<std::uint64_t>();
    Node& it = nodes_[std::size_t(node)];
    if (it.gone) return;
    if (all > all_.last() || !it.own.confirmed(own)) throw PackingError();
    it.all_confirmed = std::max(it.all_confirmed, all);
    drop_delivered();
}

void HeadStreams::drop(int node) {
    Node& it = nodes_[std::size_t(node)];
    it.gone = true;
    it.own.confirmed(it.own.last());
    drop_delivered();
}

void HeadStreams::drop_delivered() {
    std::uint64_t least = all_.last();
    for (const Node& it : nodes_)
        if (!it.gone) least = std::min(least, it.all_confirmed);
    all_.confirmed(least);
}

std::size_t HeadStreams::kept() const {
    std::size_t sum = all_.kept();
    for (const Node& it : nodes_) sum += it.own.kept();
    return sum;
}

}  // namespace torusmp::torus_run
