// SPDX-License-Identifier: BSD-3-Clause
#include "core/notes/notes.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace torusmp::core {

Notes::~Notes() {
    for (const auto& [context, reader] : readers_) reader->on_end();
}

void Notes::add_reader(Context context, NoteReader& reader) {
    const Progress::Guard guard(progress_);
    TORUSMP_ASSERT(std::count(readers_.begin(), readers_.end(), std::pair(context, &reader)) == 0,
                   context, readers_.size());
    readers_.emplace_back(context, &reader);
}

void Notes::remove_reader(NoteReader& reader) {
    const Progress::Guard guard(progress_);
    std::erase_if(readers_, [&](const auto& it) { return it.second == &reader; });
}

void Notes::send(Rank dest, Context context, Tag tag, transport::ConstBytes note) {
    const Progress::Guard guard(progress_);
    Peer& peer = connections_.peer(dest);
    if (!peer.dead)
        sender_.send_bytes(connections_.to(peer), peer, PacketKind::note, note, context, tag);
}

bool Notes::on_note(Peer& peer, const transport::PacketHeader& header, const std::byte* payload) {
    if (header.length > longest) return false;
    commons_.errands |= Commons::note;
    for (const auto& [context, reader] : readers_)
        if (context == header.context &&
            !reader->on_note(peer.rank, header.tag, {payload, header.length}))
            return false;
    return true;
}

void Notes::discard(Context context, Tag first, Tag last) {
    const Progress::Guard guard(progress_);
    std::vector<Unexpected*> found;
    matching_.for_each_unexpected([&](Unexpected& message) {
        if (message.context == context && message.tag >= first && message.tag <= last &&
            !message.is_request)
            found.push_back(&message);
    });
    for (Unexpected* message : found) {
        matching_.remove(*message);
        store_.give_back(*message);
    }
}

}  // namespace torusmp::core
