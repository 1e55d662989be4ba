// SPDX-License-Identifier: BSD-3-Clause
#include "io/store_server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include "base/assert.h"
#include "io/access.h"

namespace torusmp::io {

using far::Operation;
using far::Stream;

namespace {

bool moves(Operation operation) {
    return operation == Operation::read || operation == Operation::write;
}

// The stretches of the file, consecutive in the stream; nullopt if they are invalid.
std::optional<View> view_of(const far::Question& question, const std::vector<Run>& runs) {
    std::vector<core::Layout::Run> all;
    all.reserve(runs.size());
    std::int64_t total = 0, extent = 0;
    for (const Run& run : runs) {
        std::int64_t end = 0, data = 0;
        if (run.offset < 0 || run.bytes <= 0 || run.count <= 0 || run.stride < 0 ||
            __builtin_mul_overflow(run.count - 1, run.stride, &end) ||
            __builtin_add_overflow(end, run.offset, &end) ||
            __builtin_add_overflow(end, run.bytes, &end) ||
            end > std::numeric_limits<std::int64_t>::max() - question.offset ||
            __builtin_mul_overflow(run.count, run.bytes, &data) || data > question.bytes - total)
            return std::nullopt;
        total += data;
        extent = std::max(extent, end);
        all.push_back({run.offset, std::size_t(run.bytes), std::size_t(run.count), run.stride});
    }
    if (total != question.bytes) return std::nullopt;
    if (runs.size() == 1 && runs[0].count == 1) return View(question.offset + runs[0].offset);
    auto layout = std::make_shared<const core::Layout>(core::Layout(all).element(), extent);
    if (!View::can_be(*layout, question.operation == Operation::read)) return std::nullopt;
    return View(question.offset, std::move(layout));
}

}  // namespace

StoreServer::StoreServer(core::Runtime& runtime, core::Context context, Store& store,
                         const Hints& hints)
    : NotedTask(runtime),
      context_(context),
      store_(store),
      hints_(hints),
      answers_(runtime, context) {
    runtime_.notes().add_reader(context_, *this);
}

StoreServer::~StoreServer() {
    TORUSMP_ASSERT(!listed(), runtime_.rank(), calls_.size(), stage_);
    if (!ended_) runtime_.notes().remove_reader(*this);
}

void StoreServer::await_end() {
    runtime_.wait_until(
        [&] {
            const auto guard = runtime_.lock();
            return at_rest();
        },
        "the last answers about a file");
}

// ---- what is asked ----

bool StoreServer::fits(const Call& call) const {
    const far::Question& question = call.question;
    switch (question.operation) {
        case Operation::read:
        case Operation::write:
            return question.bytes > 0 && std::uint64_t(question.bytes) <= far::longest &&
                   question.runs > 0 && question.runs <= far::most_runs && question.offset >= 0;
        case Operation::size:
        case Operation::flush:
            return question.runs == 0;
        case Operation::resize:
        case Operation::reserve:
            return question.runs == 0 && question.bytes >= 0;
        case Operation::lock:
        case Operation::lock_shared:
        case Operation::unlock:
            return question.runs == 0 && question.bytes > 0 && question.offset >= 0;
    }
    return false;
}

bool StoreServer::on_note(core::Rank source, core::Tag tag, transport::ConstBytes bytes) {
    Call call{source, {}, {}};
    if (tag != far::note_tag || bytes.size() < sizeof call.question) return false;
    std::memcpy(&call.question, bytes.data(), sizeof call.question);
    if (!fits(call)) return false;
    const std::size_t inside = std::min<std::size_t>(call.question.runs, far::runs_in_note);
    if (bytes.size() != sizeof call.question + inside * sizeof(Run)) return false;
    call.runs.resize(call.question.runs);
    if (inside != 0)
        std::memcpy(call.runs.data(), bytes.data() + sizeof call.question, inside * sizeof(Run));
    calls_.push_back(std::move(call));
    begin_soon();
    return true;
}

// ---- doing it ----

bool StoreServer::work() {
    while (step()) {
    }
    return idle();
}

// False: it waits for something, or has nothing to do.
bool StoreServer::step() {
    answers_.free_sent();
    switch (stage_) {
        case Stage::take:
            return take_next();
        case Stage::list:
            if (!list_.complete()) return false;
            if (!arrived(list_)) return true;
            stage_ = Stage::contents;
            [[fallthrough]];
        case Stage::contents:
            if (calls_.front().question.operation == Operation::write) {
                if (!contents_.complete()) return false;
                if (!arrived(contents_)) return true;
            }
            do_access();
            return true;
        case Stage::answer:
            if (!sent_.complete()) return false;
            calls_.pop_front();
            stage_ = Stage::take;
            return true;
    }
    return false;
}

bool StoreServer::take_next() {
    if (revoked_) calls_.clear();
    if (calls_.empty()) return false;
    Call& call = calls_.front();
    const far::Question& question = call.question;
    if (!moves(question.operation)) {
        do_call();
        calls_.pop_front();
        return true;
    }
    const auto bytes = std::size_t(question.bytes);
    if (size_ < bytes) {
        memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
        size_ = bytes;
    }
    stage_ = Stage::contents;
    if (question.operation == Operation::write)
        runtime_.receive(contents_, {static_cast<void*>(memory_.get()), bytes}, call.source,
                         context_, far::tag_of(question.number, Stream::contents));
    if (call.runs.size() <= far::runs_in_note) return true;
    stage_ = Stage::list;
    runtime_.receive(list_,
                     {static_cast<void*>(call.runs.data() + far::runs_in_note),
                      (call.runs.size() - far::runs_in_note) * sizeof(Run)},
                     call.source, context_, far::tag_of(question.number, Stream::list));
    return true;
}

// Whether it has come; the call is forgotten if its rank has died or the file is revoked.
bool StoreServer::arrived(const core::ReceiveRequest& request) {
    if (request.status().error == core::Error::none && request.status().bytes == request.bytes() &&
        !revoked_)
        return true;
    if (!contents_.complete()) runtime_.cancel(contents_);
    stage_ = Stage::answer;
    return false;
}

void StoreServer::do_access() {
    const Call& call = calls_.front();
    const far::Question& question = call.question;
    const core::Buffer memory{static_cast<void*>(memory_.get()), std::size_t(question.bytes)};
    Outcome outcome{0, EINVAL};
    if (const auto view = view_of(question, call.runs))
        outcome = question.operation == Operation::write ? write(store_, *view, 0, memory)
                                                         : read(store_, *view, 0, memory, hints_);
    stage_ = Stage::answer;
    if (question.operation == Operation::read)
        runtime_.send(sent_, {static_cast<const void*>(memory_.get()), outcome.bytes}, call.source,
                      context_, far::tag_of(question.number, Stream::contents));
    answer(call.source, question.number, std::int64_t(outcome.bytes), outcome.error);
}

void StoreServer::do_call() {
    const Call& call = calls_.front();
    const far::Question& question = call.question;
    const Lock lock{call.source, question.offset, question.bytes,
                    question.operation == Operation::lock_shared};
    Offset size = 0;
    switch (question.operation) {
        case Operation::size:
            size = store_.size();
            return answer(call.source, question.number, size, size < 0 ? int(-size) : 0);
        case Operation::resize:
            return answer(call.source, question.number, 0, store_.resize(question.bytes));
        case Operation::reserve:
            return answer(call.source, question.number, 0, store_.reserve(question.bytes));
        case Operation::flush:
            return answer(call.source, question.number, 0, store_.flush());
        case Operation::lock:
        case Operation::lock_shared:
            waiting_.push_back({call.source, question.number, lock});
            return grant();
        case Operation::unlock:
            release(lock);
            return answer(call.source, question.number, 0, 0);
        case Operation::read:
        case Operation::write:
            break;
    }
}

void StoreServer::answer(core::Rank source, std::int64_t number, std::int64_t value, int error) {
    answers_.send(source, far::tag_of(number, Stream::answer), {value, error});
}

// ---- locks ----

bool StoreServer::free_for(const Lock& wanted) const {
    return std::none_of(held_.begin(), held_.end(), [&](const Lock& held) {
        return !(held.shared && wanted.shared) && held.from < wanted.from + wanted.bytes &&
               wanted.from < held.from + held.bytes;
    });
}

// In order of arrival, so that every waiting rank has its turn.
void StoreServer::grant() {
    while (!waiting_.empty() && free_for(waiting_.front().lock)) {
        const Wait wait = waiting_.front();
        waiting_.pop_front();
        held_.push_back(wait.lock);
        if (wait.source != runtime_.rank()) answer(wait.source, wait.number, 0, 0);
    }
}

void StoreServer::release(const Lock& lock) {
    const auto held = std::find_if(held_.begin(), held_.end(), [&](const Lock& it) {
        return it.owner == lock.owner && it.from == lock.from && it.bytes == lock.bytes;
    });
    if (held != held_.end()) held_.erase(held);
    grant();
}

void StoreServer::revoke() {
    revoked_ = true;
    waiting_.clear();
}

int StoreServer::lock(Offset from, Offset bytes, bool shared) {
    const Lock wanted{runtime_.rank(), from, bytes, shared};
    std::int64_t number = 0;
    {
        const auto guard = runtime_.lock();
        if (revoked_) return ECANCELED;
        number = --own_locks_;
        waiting_.push_back({wanted.owner, number, wanted});
        grant();
    }
    bool refused = false;
    runtime_.wait_until(
        [&] {
            const auto guard = runtime_.lock();
            refused = revoked_;
            return std::none_of(waiting_.begin(), waiting_.end(), [&](const Wait& it) {
                return it.source == wanted.owner && it.number == number;
            });
        },
        "the lock of a range of a file");
    return refused ? ECANCELED : 0;
}

int StoreServer::unlock(Offset from, Offset bytes) {
    const auto guard = runtime_.lock();
    release({runtime_.rank(), from, bytes, false});
    return 0;
}

}  // namespace torusmp::io
