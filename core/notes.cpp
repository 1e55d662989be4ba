// Notes: what ranks tell each other in a context beside its messages.
#include <algorithm>

#include "core/runtime.h"

namespace torusmp::core {

void Runtime::add_reader(Context context, NoteReader& reader) {
    Guard guard(*this);
    readers_.emplace_back(context, &reader);
}

void Runtime::remove_reader(NoteReader& reader) {
    Guard guard(*this);
    std::erase_if(readers_, [&](const auto& it) { return it.second == &reader; });
}

void Runtime::send_note(Rank dest, Context context, Tag tag, transport::ConstBytes note) {
    Guard guard(*this);
    send_control(peers_[dest], PacketKind::note, note, context, tag);
}

bool Runtime::on_note(Peer& peer, const transport::PacketHeader& header, const std::byte* payload) {
    if (header.length > longest_note) return false;
    note_came_ = true;
    for (const auto& [context, reader] : readers_)
        if (context == header.context &&
            !reader->on_note(peer.rank, header.tag, {payload, header.length}))
            return false;
    return true;
}

void Runtime::discard(Context context, Tag first, Tag last) {
    Guard guard(*this);
    std::vector<Unexpected*> found;
    matching_.for_each_unexpected([&](Unexpected& message) {
        if (message.context == context && message.tag >= first && message.tag <= last &&
            !message.is_request)
            found.push_back(&message);
    });
    for (Unexpected* message : found) {
        matching_.remove(*message);
        pool_.give(message, sizeof(Unexpected) + message->bytes);
    }
}

}  // namespace torusmp::core
