// SPDX-License-Identifier: BSD-3-Clause
#include "core/waits/waits.h"

#include <algorithm>

#include "base/packing.h"

namespace torusmp::core {
namespace {

using base::Packer;
using base::PackingError;
using base::Unpacker;

// Encodes ranks as runs of consecutive ones: most groups are one run.
void pack_ranks(Packer& packer, const std::vector<Rank>& ranks) {
    std::vector<int> runs;
    for (const Rank rank : ranks) {
        if (!runs.empty() && rank == runs[runs.size() - 2] + runs.back())
            ++runs.back();
        else
            runs.insert(runs.end(), {rank, 1});
    }
    packer.add(runs);
}

// Decoded values are checked against the job.
class Reader {
  public:
    Reader(Unpacker& unpacker, int ranks) : unpacker_(unpacker), ranks_(ranks) {}

    template <class Number>
    Number get() {
        return unpacker_.get<Number>();
    }
    bool flag() {
        const auto value = unpacker_.get<std::uint8_t>();
        return check(value <= 1), value == 1;
    }
    template <class Enum>
    Enum choice(Enum last) {
        const auto value = unpacker_.get<std::uint8_t>();
        return check(value <= std::uint8_t(last)), Enum(value);
    }
    Rank rank() {
        const auto value = unpacker_.get<Rank>();
        return check(value >= 0 && value < ranks_), value;
    }
    Rank rank_or_any() {
        const auto value = unpacker_.get<Rank>();
        return check(value >= any_source && value < ranks_), value;
    }
    int call(std::size_t calls) {
        const int value = unpacker_.get<int>();
        return check(value >= -1 && value < int(calls)), value;
    }
    std::string text() { return unpacker_.text(); }
    std::vector<std::string> texts() { return unpacker_.texts(); }
    std::vector<Rank> ranks() {
        const std::vector<int> runs = unpacker_.numbers();
        check(runs.size() % 2 == 0);
        std::vector<Rank> all;
        for (std::size_t i = 0; i < runs.size(); i += 2) {
            check(runs[i] >= 0 && runs[i] < ranks_ && runs[i + 1] > 0 &&
                  runs[i + 1] <= ranks_ - runs[i] && all.size() < std::size_t(ranks_));
            for (int k = 0; k < runs[i + 1]; ++k) all.push_back(runs[i] + k);
        }
        check(all.size() <= std::size_t(ranks_));
        return all;
    }
    // Reads entries that take at least `least` bytes each.
    template <class Entry, class Read>
    void fill(std::vector<Entry>& entries, std::size_t least, Read&& read) {
        entries.resize(unpacker_.count(least));
        for (Entry& entry : entries) read(entry);
    }
    static void check(bool right) {
        if (!right) throw PackingError();
    }

  private:
    Unpacker& unpacker_;
    const int ranks_;
};

void pack(Packer& packer, const Waits::Operation& it) {
    packer.add(std::uint8_t(it.kind)).add(std::uint8_t(it.stage)).add(std::uint8_t(it.channel));
    packer.add(it.call).add(it.peer).add(it.context).add(it.tag).add(it.bytes).add(it.done);
}

void pack(Packer& packer, const Waits::Collective& it) {
    packer.add(it.name).add(it.context).add(it.tag).add(it.call).add(it.root).add(it.bytes);
    packer.add(it.what);
    pack_ranks(packer, it.receives_from);
    pack_ranks(packer, it.sends_to);
    packer.add(it.known);
}

void pack(Packer& packer, const Waits::Link& it) {
    packer.add(it.name).add(it.peer).add(it.direction).add(it.bytes).add(it.silent);
    packer.add(std::uint8_t(it.apart));
}

void read(Reader& in, Waits::Operation& it, std::size_t calls) {
    it.kind = in.choice(Waits::Operation::Kind::access);
    it.stage = in.choice(Waits::Operation::Stage::queued);
    it.channel = in.flag();
    it.call = in.call(calls);
    it.peer = in.rank_or_any();
    it.context = in.get<Context>();
    it.tag = in.get<Tag>();
    it.bytes = in.get<std::uint64_t>();
    it.done = in.get<std::uint64_t>();
}

Waits read(Reader& in) {
    Waits waits;
    waits.rank = in.rank();
    waits.meeting = in.flag();
    in.fill(waits.calls, 17, [&](Waits::Call& it) {
        it.name = in.text();
        it.seconds = in.get<double>();
        it.any = in.flag();
    });
    in.fill(waits.operations, 35, [&](Waits::Operation& it) { read(in, it, waits.calls.size()); });
    in.fill(waits.messages, 22, [&](Waits::Message& it) {
        it.channel = in.flag();
        it.at_sender = in.flag();
        it.source = in.rank();
        it.context = in.get<Context>();
        it.tag = in.get<Tag>();
        it.bytes = in.get<std::uint64_t>();
    });
    in.fill(waits.collectives, 64, [&](Waits::Collective& it) {
        it.name = in.text();
        it.context = in.get<Context>();
        it.tag = in.get<Tag>();
        it.call = in.call(waits.calls.size());
        it.root = in.get<int>();
        it.bytes = in.get<std::uint64_t>();
        it.what = in.text();
        it.receives_from = in.ranks();
        it.sends_to = in.ranks();
        it.known = in.text();
    });
    in.fill(waits.queues, 22, [&](Waits::Queue& it) {
        it.name = in.text();
        it.peer = in.rank();
        it.credits = in.get<std::uint32_t>();
        it.of = in.get<std::uint32_t>();
        it.relays = in.flag();
        it.down = in.flag();
    });
    in.fill(waits.traffic, 12, [&](Waits::Traffic& it) {
        it.peer = in.rank();
        it.sent = in.get<std::uint32_t>();
        it.taken = in.get<std::uint32_t>();
    });
    in.fill(waits.links, 33, [&](Waits::Link& it) {
        it.name = in.text();
        it.peer = in.rank();
        it.direction = in.get<int>();
        it.bytes = in.get<std::uint64_t>();
        it.silent = in.get<double>();
        it.apart = in.flag();
    });
    in.fill(waits.groups, 25, [&](Waits::Group& it) {
        it.context = in.get<Context>();
        it.name = in.text();
        it.messages = in.flag();
        it.last = in.get<Tag>();
        it.members = in.ranks();
    });
    waits.looks_in = in.text();
    in.fill(waits.sought, 35, [&](Waits::Operation& it) { read(in, it, waits.calls.size()); });
    waits.notes = in.texts();
    waits.counters = in.texts();
    waits.trace = in.texts();
    waits.left_out = in.get<std::uint64_t>();
    return waits;
}

}  // namespace

void Waits::add(Collective collective) {
    for (auto* ranks : {&collective.receives_from, &collective.sends_to}) {
        std::sort(ranks->begin(), ranks->end());
        ranks->erase(std::unique(ranks->begin(), ranks->end()), ranks->end());
    }
    put(collectives, std::move(collective));
}

Waits::Group& Waits::group(Context context) {
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const Group& it) { return it.context == context; });
    if (found != groups.end()) return *found;
    return groups.emplace_back(Group{.context = context, .name = {}, .members = {}});
}

const Waits::Group* Waits::find_group(Context context) const {
    for (const Group& it : groups)
        if (it.context == context) return &it;
    return nullptr;
}

Waits::Traffic Waits::traffic_with(Rank other) const {
    const auto found =
        std::lower_bound(traffic.begin(), traffic.end(), other,
                         [](const Traffic& it, Rank rank) { return it.peer < rank; });
    return found != traffic.end() && found->peer == other ? *found : Traffic{other, 0, 0};
}

std::vector<std::byte> encode(const Waits& waits) {
    Packer packer;
    packer.add(Waits::version).add(waits.ranks).add(waits.rank).add(std::uint8_t(waits.meeting));
    packer.add(std::uint64_t(waits.calls.size()));
    for (const auto& it : waits.calls)
        packer.add(it.name).add(it.seconds).add(std::uint8_t(it.any));
    packer.add(std::uint64_t(waits.operations.size()));
    for (const auto& it : waits.operations) pack(packer, it);
    packer.add(std::uint64_t(waits.messages.size()));
    for (const auto& it : waits.messages)
        packer.add(std::uint8_t(it.channel))
            .add(std::uint8_t(it.at_sender))
            .add(it.source)
            .add(it.context)
            .add(it.tag)
            .add(it.bytes);
    packer.add(std::uint64_t(waits.collectives.size()));
    for (const auto& it : waits.collectives) pack(packer, it);
    packer.add(std::uint64_t(waits.queues.size()));
    for (const auto& it : waits.queues)
        packer.add(it.name)
            .add(it.peer)
            .add(it.credits)
            .add(it.of)
            .add(std::uint8_t(it.relays))
            .add(std::uint8_t(it.down));
    packer.add(std::uint64_t(waits.traffic.size()));
    for (const auto& it : waits.traffic) packer.add(it.peer).add(it.sent).add(it.taken);
    packer.add(std::uint64_t(waits.links.size()));
    for (const auto& it : waits.links) pack(packer, it);
    packer.add(std::uint64_t(waits.groups.size()));
    for (const auto& it : waits.groups) {
        packer.add(it.context).add(it.name).add(std::uint8_t(it.messages)).add(it.last);
        pack_ranks(packer, it.members);
    }
    packer.add(waits.looks_in).add(std::uint64_t(waits.sought.size()));
    for (const auto& it : waits.sought) pack(packer, it);
    packer.add(waits.notes).add(waits.counters).add(waits.trace).add(waits.left_out);
    return packer.take();
}

std::optional<Waits> decode_waits(std::span<const std::byte> bytes, int ranks) {
    try {
        Unpacker unpacker(bytes);
        Reader reader(unpacker, ranks);
        if (reader.get<std::uint32_t>() != Waits::version || reader.get<int>() != ranks)
            return std::nullopt;
        Waits waits = read(reader);
        waits.ranks = ranks;
        if (!unpacker.rest().empty()) return std::nullopt;
        return waits;
    } catch (const PackingError&) {
        return std::nullopt;
    }
}

}  // namespace torusmp::core
