// SPDX-License-Identifier: BSD-3-Clause
#include "io/access.h"

#include <algorithm>
#include <memory>

#include "io/far_store.h"

namespace torusmp::io {
namespace {

// Scattered memory goes through so many bytes of ours.
constexpr std::size_t staging = std::size_t(1) << 20;
// A call of the kernel costs about as much as copying so many bytes.
constexpr std::size_t short_gap = 4096;

// Writes `bytes` bytes of the stream, which are in memory one behind the other.
Outcome write_stream(Store& store, const View& view, Offset position, const std::byte* stream,
                     std::size_t bytes) {
    Outcome all;
    view.for_each(position, bytes, [&](Offset offset, std::size_t piece) {
        const Outcome one = store.write(stream + all.bytes, piece, offset);
        all.bytes += one.bytes;
        all.error = one.error;
        return one.error == 0;
    });
    return all;
}

// Stretches of a view that are read together: a piece of the file, and the data in it.
struct Window {
    Offset begin = 0, end = 0;
    std::size_t bytes = 0;  // of data
    bool whole() const { return std::size_t(end - begin) == bytes; }
};

class Reader {
  public:
    Reader(Store& store, const View& view, const Hints& hints)
        : store_(store), view_(view), most_(hints.sieve_buffer) {
        if (view.overlaps()) return;
        gap_ = hints.sieve_read == Choice::yes  ? most_
               : hints.sieve_read == Choice::no ? 0
                                                : short_gap;
    }

    // Reads into `stream`, which has room for `bytes` bytes.
    Outcome read(Offset position, std::byte* stream, std::size_t bytes) {
        Outcome all;
        while (all.bytes < bytes && all.error == 0) {
            const Window window = next(position + Offset(all.bytes), bytes - all.bytes);
            const Outcome one = read(window, position + Offset(all.bytes), stream + all.bytes);
            all.bytes += one.bytes;
            all.error = one.error;
            if (one.bytes < window.bytes) break;
        }
        return all;
    }

  private:
    Window next(Offset position, std::size_t bytes) const {
        Window window;
        view_.for_each(position, bytes, [&](Offset offset, std::size_t piece) {
            if (window.bytes == 0) {
                window = {offset, offset + Offset(piece), piece};
                return true;
            }
            const bool adjacent = offset == window.end && window.whole();
            const Offset end = offset + Offset(piece);
            if (!adjacent && (std::size_t(offset - window.end) > gap_ ||
                              std::size_t(end - window.begin) > most_))
                return false;
            window.end = end;
            window.bytes += piece;
            return true;
        });
        return window;
    }
    Outcome read(const Window& window, Offset position, std::byte* stream) {
        if (window.whole()) return store_.read(stream, window.bytes, window.begin);
        const auto span = std::size_t(window.end - window.begin);
        if (size_ < span) {
            memory_ = std::make_unique_for_overwrite<std::byte[]>(span);
            size_ = span;
        }
        Outcome got = store_.read(memory_.get(), span, window.begin);
        const Offset end = view_.position_of(window.begin + Offset(got.bytes));
        got.bytes = std::min(window.bytes, std::size_t(std::max<Offset>(end - position, 0)));
        view_.gather(memory_.get(), window.begin, position, stream, got.bytes);
        return got;
    }

    Store& store_;
    const View& view_;
    std::size_t most_, gap_ = 0;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
};

// Calls move(stream, done, bytes) for pieces of a scattered buffer, through memory of ours.
template <class Move>
Outcome by_pieces(const core::Buffer& buffer, Move&& move) {
    const std::size_t room = std::min(staging, buffer.bytes);
    const auto memory = std::make_unique_for_overwrite<std::byte[]>(room);
    Outcome all;
    while (all.bytes < buffer.bytes && all.error == 0) {
        const std::size_t wanted = std::min(room, buffer.bytes - all.bytes);
        const Outcome one = move(memory.get(), all.bytes, wanted);
        all.bytes += one.bytes;
        all.error = one.error;
        if (one.bytes < wanted) break;
    }
    return all;
}

}  // namespace

Outcome write(Store& store, const View& view, Offset position, const core::Buffer& buffer) {
    if (view.dense() && buffer.layout == nullptr) [[likely]]
        return store.write(buffer.base, buffer.bytes, view.displacement() + position);
    if (FarStore* const far = store.far()) return far->write(view, position, buffer);
    if (buffer.layout == nullptr)
        return write_stream(store, view, position, buffer.base, buffer.bytes);
    return by_pieces(buffer, [&](std::byte* stream, std::size_t done, std::size_t bytes) {
        buffer.pack(done, stream, bytes);
        return write_stream(store, view, position + Offset(done), stream, bytes);
    });
}

Outcome read(Store& store, const View& view, Offset position, const core::Buffer& buffer,
             const Hints& hints) {
    if (view.dense() && buffer.layout == nullptr) [[likely]]
        return store.read(buffer.base, buffer.bytes, view.displacement() + position);
    if (FarStore* const far = store.far()) return far->read(view, position, buffer);
    Reader reader(store, view, hints);
    if (buffer.layout == nullptr) return reader.read(position, buffer.base, buffer.bytes);
    return by_pieces(buffer, [&](std::byte* stream, std::size_t done, std::size_t bytes) {
        const Outcome got = reader.read(position + Offset(done), stream, bytes);
        buffer.unpack(done, stream, got.bytes);
        return got;
    });
}

}  // namespace torusmp::io
