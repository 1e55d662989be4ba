// SPDX-License-Identifier: BSD-3-Clause
// Notes: short control texts that ranks exchange in a context besides its messages, and about long
// waits.
//
// Handles note. Its callers need no lock.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fault/faults.h"
#include "core/match/matching.h"
#include "core/match/unexpected_store.h"
#include "core/progress/progress.h"

namespace torusmp::core {

// Reads the notes of a context. Notes are rare and short, and no receive waits for them; a rank
// without a reader for the context ignores them. Called under the Runtime's lock.
class NoteReader {
  public:
    // Returns false if such a note is impossible.
    virtual bool on_note(Rank source, Tag tag, transport::ConstBytes note) = 0;
    // Called if the Runtime ends before its reader.
    virtual void on_end() = 0;

  protected:
    ~NoteReader() = default;
};

class Notes {
  public:
    static constexpr std::size_t longest = 320;  // bytes

    Notes(Commons& commons, Connections& connections, PacketSender& sender, UnexpectedStore& store,
          Matching& matching, Faults& faults, Progress& progress)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          store_(store),
          matching_(matching),
          faults_(faults),
          progress_(progress) {}
    ~Notes();
    Notes(const Notes&) = delete;
    Notes& operator=(const Notes&) = delete;

    void add_reader(Context context, NoteReader& reader);
    void remove_reader(NoteReader& reader);
    // Precondition: the note has at most `longest` bytes, and dest is another rank.
    void send(Rank dest, Context context, Tag tag, transport::ConstBytes note);
    // Makes tasks check for faults, after a note has ended one of them.
    void count_fault() { faults_.count_one(); }
    // Discards whole messages with a tag from `first` to `last` that no receive will ever match.
    void discard(Context context, Tag first, Tag last);
    // Informs all tasks that this process has been waiting long in that call, or that it no longer
    // is (empty). Long waits do this themselves.
    void linger(std::string_view what) { progress_.linger(what); }
    // The call in which this process has been waiting long; empty if there is none.
    std::string_view waits_in() const { return progress_.waits_in(); }

    bool on_note(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

  private:
    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    UnexpectedStore& store_;
    Matching& matching_;
    Faults& faults_;
    Progress& progress_;
    std::vector<std::pair<Context, NoteReader*>> readers_;
};

}  // namespace torusmp::core
