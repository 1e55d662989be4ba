// SPDX-License-Identifier: BSD-3-Clause
// Notes: what ranks tell each other in a context beside its messages, and about their waiting.
//
// Handles note. Its callers need no lock.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fault/faults.h"
#include "core/match/matching.h"
#include "core/progress/progress.h"

namespace torusmp::core {

// Reads the notes of a context: they are rare and short, no receive waits for them, and a rank that
// has no reader for the context ignores them. Called under the Runtime's lock.
class NoteReader {
  public:
    // False: such a note is impossible.
    virtual bool on_note(Rank source, Tag tag, transport::ConstBytes note) = 0;
    // The Runtime ends before its reader.
    virtual void on_end() = 0;

  protected:
    ~NoteReader() = default;
};

class Notes {
  public:
    static constexpr std::size_t longest = 320;  // bytes

    Notes(Commons& commons, Connections& connections, PacketSender& sender, Matching& matching,
          Faults& faults, Progress& progress)
        : commons_(commons),
          connections_(connections),
          sender_(sender),
          matching_(matching),
          faults_(faults),
          progress_(progress) {}
    ~Notes();
    Notes(const Notes&) = delete;
    Notes& operator=(const Notes&) = delete;

    void add_reader(Context context, NoteReader& reader);
    void remove_reader(NoteReader& reader);
    // Precondition: no more than `longest`, and not to ourselves.
    void send(Rank dest, Context context, Tag tag, transport::ConstBytes note);
    // Makes tasks look for faults: one of them is ended by a note.
    void count_fault() { faults_.count_one(); }
    // Discards messages that came whole with a tag from `first` to `last`, and that nobody will
    // ever receive.
    void discard(Context context, Tag first, Tag last);
    // Tells all tasks that this process has waited long, in that call, or that it no longer does
    // (empty). Long waits do so themselves.
    void linger(std::string_view what) { progress_.linger(what); }
    // The call in which this process has waited long; empty: in none.
    std::string_view waits_in() const { return progress_.waits_in(); }

    bool on_note(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);

  private:
    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Matching& matching_;
    Faults& faults_;
    Progress& progress_;
    std::vector<std::pair<Context, NoteReader*>> readers_;
};

}  // namespace torusmp::core
