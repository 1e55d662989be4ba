// SPDX-License-Identifier: BSD-3-Clause
// The report of one rank, as text from its Waits.
#include <fmt/format.h>

#include "core/waits/waits.h"

namespace torusmp::core {
namespace {

using Names = std::function<std::string(Rank)>;
using Operation = Waits::Operation;

std::string source_name(const Names& name_of, Rank rank) {
    return rank == any_source ? std::string("any rank") : name_of(rank);
}

std::string tag_name(Tag tag) {
    return tag == any_tag ? std::string("any") : std::to_string(tag);
}

// "context 4, tag 7", or with the name that the program knows.
std::string matching(const Waits& waits, Context context, Tag tag) {
    const Waits::Group* group = waits.find_group(context);
    return group != nullptr && !group->name.empty()
               ? fmt::format("{}, tag {}", group->name, tag_name(tag))
               : fmt::format("context {}, tag {}", context, tag_name(tag));
}

std::string receive_text(const Waits& waits, const Operation& it, const Names& name_of) {
    const std::string source = source_name(name_of, it.peer);
    if (it.stage == Operation::Stage::moving)
        return fmt::format("receive from {}: {} of {} B have arrived", source, it.done, it.bytes);
    if (it.channel)
        return fmt::format("channel receive of up to {} B from {}: no message yet", it.bytes,
                           source);
    return fmt::format("receive of up to {} B from {} ({}): no message yet", it.bytes, source,
                       matching(waits, it.context, it.tag));
}

std::string send_text(const Operation& it, const Names& name_of) {
    const char* state = it.stage == Operation::Stage::unmet    ? "its receive has not started"
                        : it.stage == Operation::Stage::moving ? "is being written"
                                                               : "waits for its turn";
    return fmt::format("send of {} B to {}: {}", it.bytes, name_of(it.peer), state);
}

std::string text_of(const Waits& waits, const Operation& it, const Names& name_of) {
    switch (it.kind) {
        case Operation::Kind::receive:
            return receive_text(waits, it, name_of);
        case Operation::Kind::send:
            return send_text(it, name_of);
        case Operation::Kind::probe:
            return fmt::format("probe for a message from {} ({}): none yet",
                               source_name(name_of, it.peer), matching(waits, it.context, it.tag));
        case Operation::Kind::idle_receive:
            return fmt::format("a receive from {} ({}) that was created but not started",
                               source_name(name_of, it.peer), matching(waits, it.context, it.tag));
        case Operation::Kind::idle_send:
            return fmt::format("a send of {} B to {} ({}) that was created but not started",
                               it.bytes, name_of(it.peer), matching(waits, it.context, it.tag));
        case Operation::Kind::access:
            return fmt::format("an access to a window of {}: {}", name_of(it.peer),
                               it.stage == Operation::Stage::queued ? "waits for its turn"
                                                                    : "not answered yet");
    }
    return {};
}

std::string text_of(const Waits::Queue& it) {
    return fmt::format(
        "{}: packets wait for a credit; {} of {} credits of virtual channel 0 "
        "available{}{}",
        it.name, it.credits, it.of, it.relays ? "; a packet to be relayed is held" : "",
        it.down ? "; the link is down" : "");
}

std::string text_of(const Waits::Link& it) {
    std::string text =
        fmt::format("{}: {} B are not confirmed by its other end", it.name, it.bytes);
    if (it.silent > 0) text += fmt::format(", which has been silent for {:.1f} s", it.silent);
    if (it.apart) text += "; it is unreachable now";
    return text;
}

// Adds lines with the indentation of a report.
void add_indented(std::string& text, std::string_view lines) {
    while (!lines.empty() && lines.back() == '\n') lines.remove_suffix(1);
    text += "\n  ";
    for (const char c : lines) {
        text += c;
        if (c == '\n') text += "  ";
    }
}

}  // namespace

std::string describe(const Waits::Collective& collective) {
    std::string text = collective.name;
    const auto name = [&](const std::vector<Rank>& ranks, const char* before) {
        for (const Rank rank : ranks) {
            text += before + std::to_string(rank);
            before = ", ";
        }
    };
    name(collective.receives_from, " waits for rank ");
    name(collective.sends_to, "; sends to rank ");
    if (!collective.known.empty()) text += "; " + collective.known;
    return text;
}

std::string describe(const Waits& waits, const Names& name_of) {
    std::string text = fmt::format("rank {} of {}: what it waits for", waits.rank, waits.ranks);
    for (const auto& call : waits.calls)
        if (!call.name.empty())
            add_indented(
                text, fmt::format("in {}, without progress for {:.1f} s", call.name, call.seconds));
    for (const auto& it : waits.operations) add_indented(text, text_of(waits, it, name_of));
    if (!waits.looks_in.empty()) add_indented(text, "repeatedly calls " + waits.looks_in);
    for (const auto& it : waits.sought) add_indented(text, text_of(waits, it, name_of));
    for (const auto& it : waits.queues) add_indented(text, text_of(it));
    for (const auto& it : waits.links) add_indented(text, text_of(it));
    for (const std::string& note : waits.notes) add_indented(text, note);
    for (const auto& it : waits.collectives) add_indented(text, describe(it));
    for (const auto& it : waits.messages)
        add_indented(
            text, fmt::format(
                      "an unexpected message of {} B from {} ({})", it.bytes, name_of(it.source),
                      it.channel ? std::string("a channel") : matching(waits, it.context, it.tag)));
    if (waits.left_out != 0) add_indented(text, fmt::format("{} more", waits.left_out));
    if (waits.calls.empty() && waits.idle()) add_indented(text, "nothing");
    for (const std::string& counted : waits.counters) add_indented(text, counted);
    if (!waits.trace.empty()) add_indented(text, "the last lines of its trace:");
    for (const std::string& line : waits.trace) add_indented(text, "  " + line);
    return text;
}

}  // namespace torusmp::core
