// SPDX-License-Identifier: BSD-3-Clause
#include "io/shared_counter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>

namespace torusmp::io {

SharedCounter::SharedCounter(collectives::Group& group, core::Context context)
    : runtime_(group.runtime()), context_(context), keeper_(group.rank_of(0)) {
    runtime_.notes().add_reader(context_, *this);
}

SharedCounter::~SharedCounter() {
    if (!ended_) runtime_.notes().remove_reader(*this);
}

void SharedCounter::send(core::Rank dest, Kind kind, const Note& note) {
    runtime_.notes().send(dest, context_, kind, std::as_bytes(std::span(&note, 1)));
}

void SharedCounter::set(std::int64_t value) {
    const auto guard = runtime_.lock();
    value_ = value;
}

std::int64_t SharedCounter::add(std::int64_t more) {
    std::int64_t number = 0;
    {
        const auto guard = runtime_.lock();
        if (keeper_ == runtime_.rank()) return std::exchange(value_, value_ + more);
        number = ++asked_;
    }
    send(keeper_, question, {number, more});
    std::optional<std::int64_t> found;
    std::optional<core::Rank> lost;
    bool revoked = false;
    std::uint64_t faults = 0;
    const std::array<core::Rank, 2> pair{keeper_, runtime_.rank()};
    runtime_.wait_until(
        [&] {
            const auto guard = runtime_.lock();
            const auto here = std::find_if(answers_.begin(), answers_.end(),
                                           [&](const Note& it) { return it.number == number; });
            if (here != answers_.end()) {
                found = here->value;
                answers_.erase(here);
                return true;
            }
            if (const std::uint64_t now = runtime_.state().faults(); now != faults) {
                faults = now;
                lost = runtime_.state().lost_in(pair);
            }
            revoked = revoked_;
            return lost.has_value() || revoked;
        },
        "the shared file pointer");
    if (!found && revoked) throw std::runtime_error("the shared file pointer is revoked");
    if (!found)
        throw std::runtime_error("rank " + std::to_string(keeper_) +
                                 ", which keeps the shared file pointer, cannot be reached: " +
                                 runtime_.state().fault_of(*lost));
    return *found;
}

bool SharedCounter::on_note(core::Rank source, core::Tag tag, transport::ConstBytes bytes) {
    Note note;
    if (bytes.size() != sizeof note) return false;
    std::memcpy(&note, bytes.data(), sizeof note);
    if (tag == answer) {
        if (source != keeper_) return false;
        answers_.push_back(note);
        return true;
    }
    if (tag != question || keeper_ != runtime_.rank()) return false;
    send(source, answer, {note.number, std::exchange(value_, value_ + note.value)});
    return true;
}

}  // namespace torusmp::io
