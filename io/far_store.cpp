// SPDX-License-Identifier: BSD-3-Clause
#include "io/far_store.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "io/in_flight.h"

namespace torusmp::io {

far::Answer FarStore::call(far::Note& note, const Runs& runs, const core::Buffer& memory) {
    using far::Operation, far::Stream;
    far::Question& question = note.question;
    const auto tag = [&](Stream stream) { return far::tag_of(question.number, stream); };
    question.number = calls_.fetch_add(1, std::memory_order_relaxed);
    core::SendRequest runs_sent, data_sent;
    core::ReceiveRequest contents, answered;
    const InFlight all({&runs_sent, &data_sent, &contents, &answered});
    far::Answer answer{};
    const std::size_t inside = std::min(runs.list().size(), far::runs_in_note);
    std::copy_n(runs.list().data(), inside, note.first);
    {
        // A revocation cancels all of it, or none has begun.
        const auto guard = runtime_.lock();
        if (revoked_) return {0, ECANCELED};
        // Where it is to go is known before it comes.
        runtime_.receive(answered, {static_cast<void*>(&answer), sizeof answer}, server_, context_,
                         tag(Stream::answer));
        if (question.operation == Operation::read)
            runtime_.receive(contents, memory, server_, context_, tag(Stream::contents));
        runtime_.notes().send(
            server_, context_, far::note_tag,
            {reinterpret_cast<const std::byte*>(&note), sizeof question + inside * sizeof(Run)});
        if (runs.list().size() > inside)
            runtime_.send(runs_sent,
                          {static_cast<const void*>(runs.list().data() + inside),
                           (runs.list().size() - inside) * sizeof(Run)},
                          server_, context_, tag(Stream::list));
        if (question.operation == Operation::write)
            runtime_.send(data_sent, memory, server_, context_, tag(Stream::contents));
    }
    wait([&] { return all.complete(); }, all);
    if (all.failed()) return {0, EHOSTDOWN};
    return answer;
}

Outcome FarStore::move_piece(far::Operation operation, const Runs& runs, Offset offset,
                             const core::Buffer& memory) {
    far::Note note{};
    note.question = {0, operation, std::uint32_t(runs.list().size()), offset,
                     std::int64_t(memory.bytes)};
    const far::Answer answer = call(note, runs, memory);
    return {std::size_t(answer.value), int(answer.error)};
}

// In pieces that the server's memory holds; scattered memory is packed for each.
Outcome FarStore::move(far::Operation operation, const View& view, Offset position,
                       const core::Buffer& buffer) {
    const bool write = operation == far::Operation::write;
    std::unique_ptr<std::byte[]> packed;
    if (buffer.layout != nullptr && buffer.bytes != 0)
        packed = std::make_unique_for_overwrite<std::byte[]>(std::min(far::longest, buffer.bytes));
    Runs runs;
    Outcome all;
    while (all.bytes < buffer.bytes && all.error == 0) {
        const std::size_t most = std::min(far::longest, buffer.bytes - all.bytes);
        const Offset from = position + Offset(all.bytes);
        const Offset offset = view.offset_of(from);
        std::size_t bytes = 0;
        runs.clear();
        view.for_each(from, most, [&](Offset at, std::size_t piece) {
            runs.add(at - offset, Offset(piece));
            bytes += piece;
            return runs.list().size() < far::most_runs;
        });
        core::Buffer memory{static_cast<void*>(packed.get()), bytes};
        if (packed == nullptr)
            memory = {static_cast<void*>(buffer.base + all.bytes), bytes};
        else if (write)
            buffer.pack(all.bytes, memory.base, bytes);
        const Outcome one = move_piece(operation, runs, offset, memory);
        if (packed != nullptr && !write) buffer.unpack(all.bytes, memory.base, one.bytes);
        all.bytes += one.bytes;
        all.error = one.error;
        if (one.bytes < bytes) break;
    }
    return all;
}

int FarStore::ask(far::Operation operation, Offset offset, std::int64_t bytes) {
    far::Note note{};
    note.question = {0, operation, 0, offset, bytes};
    return int(call(note, {}, {}).error);
}

Offset FarStore::size() {
    far::Note note{};
    note.question.operation = far::Operation::size;
    const far::Answer answer = call(note, {}, {});
    return answer.error != 0 ? -answer.error : answer.value;
}

}  // namespace torusmp::io
