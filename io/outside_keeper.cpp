// SPDX-License-Identifier: BSD-3-Clause
#include "io/outside_keeper.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace torusmp::io {

OutsideKeeper::OutsideKeeper(core::Runtime& runtime, core::Context context, Look look)
    : NotedTask(runtime), context_(context), look_(std::move(look)), answers_(runtime, context) {
    const auto guard = runtime_.lock();  // another thread may take a note meanwhile
    runtime_.notes().add_reader(context_, *this);
    begin();  // messages whose notes came before
}

OutsideKeeper::~OutsideKeeper() {
    if (!ended_) runtime_.notes().remove_reader(*this);
}

bool OutsideKeeper::on_note(core::Rank, core::Tag tag, transport::ConstBytes bytes) {
    if (tag != keeper_call::note_tag || !bytes.empty()) return false;
    begin_soon();
    return true;
}

bool OutsideKeeper::idle() const {
    return calls_.empty() && !answers_.in_flight() &&
           std::none_of(files_.begin(), files_.end(),
                        [](const auto& it) { return it.second.closing.has_value(); });
}

bool OutsideKeeper::work() {
    answers_.free_sent();
    take_calls();
    for (; !calls_.empty() && calls_.front().request.complete(); calls_.pop_front())
        carry_out(calls_.front());
    end_files();
    return idle();
}

void OutsideKeeper::take_calls() {
    while (core::Unexpected* const found =
               runtime_.claim(core::any_source, context_, keeper_call::question_tag)) {
        Call& call = calls_.emplace_back();
        call.source = found->status().source;
        call.message.resize(found->status().bytes);
        runtime_.receive(call.request,
                         {static_cast<void*>(call.message.data()), call.message.size()}, *found);
    }
}

void OutsideKeeper::carry_out(const Call& call) {
    keeper_call::Question question;
    // It has died.
    if (call.request.status().error != core::Error::none) return;
    if (call.message.size() < sizeof question ||
        call.message.size() > sizeof question + keeper_call::longest_path)
        return;
    std::memcpy(&question, call.message.data(), sizeof question);
    const std::string path(reinterpret_cast<const char*>(call.message.data()) + sizeof question,
                           call.message.size() - sizeof question);
    const core::Tag tag = keeper_call::tag_of(question.number);
    keeper_call::Answer answer{EINVAL, {}};
    switch (question.operation) {
        case keeper_call::Operation::look:
            answer = {0, look_(path)};
            break;
        case keeper_call::Operation::open:
            answer = open(question, path);
            break;
        case keeper_call::Operation::close: {
            const auto file = files_.find(question.file);
            if (file != files_.end() && !file->second.closing) {
                // Calls of members that have died, and locks that they hold.
                file->second.server->revoke();
                file->second.closing = {call.source, tag};
                return;
            }
            answer.error = EBADF;
            break;
        }
        case keeper_call::Operation::remove:
            answer.error = ::unlink(path.c_str()) == 0 ? 0 : errno;
            break;
    }
    answers_.send(call.source, tag, answer);
}

keeper_call::Answer OutsideKeeper::open(const keeper_call::Question& question,
                                        const std::string& path) {
    int error = 0;
    auto store = LocalStore::open(path, question.flags, error);
    if (store == nullptr) return {error, {}};
    const auto [place, made] = files_.try_emplace(question.file);
    if (!made) return {EBUSY, {}};
    File& file = place->second;
    file.hints = question.hints;
    file.store = std::move(store);
    file.server = std::make_unique<StoreServer>(runtime_, question.file, *file.store, file.hints);
    return {0, {}};
}

// Those whose last calls have been answered.
void OutsideKeeper::end_files() {
    for (auto it = files_.begin(); it != files_.end();) {
        File& file = it->second;
        if (!file.closing || !file.server->at_rest()) {
            ++it;
            continue;
        }
        const Caller caller = *file.closing;
        const int error = file.store->close();
        it = files_.erase(it);
        answers_.send(caller.rank, caller.tag, {error, {}});
    }
}

}  // namespace torusmp::io
