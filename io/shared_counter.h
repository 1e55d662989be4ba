// SPDX-License-Identifier: BSD-3-Clause
// A number that the members of a group read and change one at a time: the shared file pointer.
//
// The first member keeps the number. The others send it notes, which it answers in any call of the
// library, so neither a file nor a lock is needed. All members create and destroy it together. Any
// thread may call.
#pragma once

#include <cstdint>

#include "collectives/group/group.h"
#include "core/api.h"

namespace torusmp::io {

class SharedCounter final : public core::NoteReader {
  public:
    // No other object uses `context` for notes. `group` outlives the counter.
    SharedCounter(collectives::Group& group, core::Context context);
    ~SharedCounter();
    SharedCounter(const SharedCounter&) = delete;
    SharedCounter& operator=(const SharedCounter&) = delete;

    // Adds `more` and returns the number before. Throws std::runtime_error that names the rank if
    // the first member cannot be reached.
    std::int64_t add(std::int64_t more);
    std::int64_t get() { return add(0); }
    // Called only by the first member, while no other member uses the counter.
    void set(std::int64_t value);
    // From now on add() throws. Called under the Runtime's lock.
    void revoke() { revoked_ = true; }

    bool on_note(core::Rank source, core::Tag tag, transport::ConstBytes note) override;
    void on_end() override { ended_ = true; }

  private:
    struct Note {
        std::int64_t number;  // the member numbers its questions
        std::int64_t value;
    };
    enum Kind : core::Tag { question = 1, answer = 2 };
    void send(core::Rank dest, Kind kind, const Note& note);

    core::Runtime& runtime_;
    core::Context context_;
    core::Rank keeper_;
    bool ended_ = false;
    // Changed under the Runtime's lock.
    std::int64_t value_ = 0;
    std::int64_t asked_ = 0;
    bool revoked_ = false;
    std::vector<Note> answers_;
};

}  // namespace torusmp::io
