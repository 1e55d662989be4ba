// SPDX-License-Identifier: BSD-3-Clause
// The base of algorithms that pass long contents through the area piece by piece. A member puts a
// piece where an older one was, once all others have taken that. So contents may have any length,
// and the memory in use stays in the cache that all cores share.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "collectives/algorithm/table.h"
#include "collectives/algorithm/through_area.h"

namespace torusmp::collectives {

class InPieces : public ThroughArea {
  public:
    // Whether the room of an area has places for pieces of `columns` blocks for each of `members`.
    static bool fit(std::size_t room, int members, std::size_t columns) {
        return piece_in(room, members, columns) != 0;
    }
    // The algorithm's row in the table of an operation.
    static AlgorithmRow row(std::string_view help, bool (*applies)(const Conditions&)) {
        return {.name = "pieces",
                .help = help,
                .applies = applies,
                .pays = pays,
                .instead = "lines",
                .area = true};
    }

  protected:
    explicit InPieces(Messages& messages) : ThroughArea(messages) {}

    // Call this in start(). A piece has a part of each of `columns` blocks.
    void begin_pieces(Kind kind, std::size_t columns);

    // The length of each block of that member, in bytes; the same on all members.
    virtual std::size_t block_of(int member) const = 0;
    // A part of each block: bytes [from, from + bytes), at `place` + column * `bytes`.
    struct Part {
        std::size_t from, bytes;
    };
    // Puts this part of this member's blocks there.
    virtual void put(std::byte* place, const Part& part) = 0;
    // Takes what this member needs of that part of the blocks of another.
    virtual void take_part(int member, const std::byte* place, const Part& part) = 0;

  private:
    using Counter = std::atomic<std::uint32_t>;
    // What this member knows of another member's pieces.
    struct Source {
        std::byte* room = nullptr;  // null until that member has opened it
        std::uint32_t taken = 0;
    };
    static constexpr std::uint32_t places = 2;  // for pieces, in a room
    static constexpr std::size_t line = 64;     // of a cache

    // A room begins with a counter for each member: the pieces that it has put, if the room is its
    // own, otherwise those that it has taken.
    static std::size_t counters_bytes(int members) { return std::size_t(members) * line; }
    static std::size_t piece_in(std::size_t room, int members, std::size_t columns);
    static Counter& counter(std::byte* room, int member) {
        return *reinterpret_cast<Counter*>(room + std::size_t(member) * line);
    }

    // Where each member has a core, copies by the kernel overlap, and are made once only.
    static bool pays(const Conditions& c) { return c.group.situation() == Situation::crowded; }

    bool move() final;
    bool open();
    void put_pieces();
    // Whether all others have taken the piece in whose place the next one goes.
    bool has_free_place();
    // Returns whether all pieces of that member are taken.
    bool take_pieces(int from);
    std::size_t room_bytes() const { return counters_bytes(size()) + places * columns_ * piece_; }
    std::byte* place_of(std::byte* room, std::uint32_t piece) const {
        return room + counters_bytes(size()) + piece % places * columns_ * piece_;
    }
    std::uint32_t pieces_of(int member) const {
        return std::uint32_t((block_of(member) + piece_ - 1) / piece_);
    }
    Part part_of(int member, std::uint32_t piece) const {
        const std::size_t from = piece * piece_;
        return {from, std::min(piece_, block_of(member) - from)};
    }

    std::size_t columns_ = 1;
    std::size_t piece_ = 0;        // bytes of each block in a piece
    std::byte* own_ = nullptr;     // this member's room
    std::uint32_t put_ = 0;        // pieces
    std::vector<Source> sources_;  // by member
};

}  // namespace torusmp::collectives
