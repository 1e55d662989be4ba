// SPDX-License-Identifier: BSD-3-Clause
// The locks of epochs: the ranks that wait for them, their order, and the locks of dead ranks. Also
// the signals of epochs in mapped memory.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/rma/windows.h"

namespace torusmp::core::rma {

bool Windows::take(const Window& window, Control& control, bool exclusive, Rank holder) {
    const Control::Try result = control.try_lock(exclusive, holder, window.place);
    if (result == Control::Try::withdrawn && control.waiting.load() != 0) wake(window);
    return result == Control::Try::taken;
}

bool Windows::lock_now(Window& window, int target, bool exclusive) {
    if (window.dealings[std::size_t(target)].left.load(std::memory_order_relaxed)) [[unlikely]]
        give_way(window, target);
    Control& control = *window.parts[std::size_t(target)].control;
    const Control::Try result = control.try_lock(exclusive, commons_.rank(), window.place);
    if (result == Control::Try::withdrawn && control.waiting.load() != 0) {
        const Progress::Guard guard(progress_);
        wake(window);
    }
    return result == Control::Try::taken;
}

// A rank that locks and unlocks in a loop would otherwise find the lock free each time, before the
// ranks that it has woken run. Those that do not come, because they compute or are dead, cost it
// less each time.
void Windows::give_way(Window& window, int target) {
    Window::Dealings& dealings = window.dealings[std::size_t(target)];
    const Control& control = *window.parts[std::size_t(target)].control;
    const auto others_first = [&] {
        return control.waiting.load() != 0 && control.grants() == dealings.left_at;
    };
    dealings.left = false;
    const unsigned most_turns = dealings.turns_given;
    unsigned turns = 0;
    for (; turns < most_turns && others_first(); ++turns) {
        sched_yield();
        progress_.poll();
    }
    dealings.turns_given = turns < most_turns ? Window::most_turns_given : most_turns / 2;
}

void Windows::unlock(Window& window, int target, bool exclusive) {
    Control& control = *window.parts[std::size_t(target)].control;
    Window::Dealings& dealings = window.dealings[std::size_t(target)];
    if (!control.unlock(exclusive, window.place)) return;
    const Progress::Guard guard(progress_);
    dealings.left_at = control.grants();
    dealings.left = true;
    wake(window);
}

// Shared locks wait only for the holder of an exclusive one: a rank that waits for one may hold
// others, for which an exclusive one waits.
void Windows::await_lock(const Waiter& waiter) {
    if (waiter.window->revoked) return refuse_lock(waiter);
    const bool behind =
        waiter.exclusive && std::any_of(waiters_.begin(), waiters_.end(), [&](const Waiter& it) {
            return it.control == waiter.control && it.exclusive;
        });
    const Rank holder = waiter.window->members[std::size_t(waiter.origin)];
    if (!behind && take(*waiter.window, *waiter.control, waiter.exclusive, holder))
        return grant(waiter);
    waiter.control->waiting.fetch_add(1);
    waiters_.push_back(waiter);
    list_task();
}

void Windows::refuse_lock(const Waiter& waiter) {
    if (waiter.operation != nullptr) return finish(*waiter.operation, Error::revoked);
    sender_.send(connections_.peer(waiter.window->members[std::size_t(waiter.origin)]),
                 PacketKind::window_answer, AnswerBody{waiter.asked_by, 0, 0, Refusal::revoked, 0});
}

// Those that wait no longer.
std::vector<Windows::Waiter> Windows::take_waiters(
    const std::function<bool(const Waiter&)>& which) {
    std::vector<Waiter> taken;
    std::erase_if(waiters_, [&](const Waiter& waiter) {
        if (!which(waiter)) return false;
        waiter.control->waiting.fetch_sub(1);
        taken.push_back(waiter);
        return true;
    });
    return taken;
}

void Windows::revoke(Window& window) {
    window.revoked = true;
    const auto ours = [&](const Waiter& waiter) { return waiter.window == &window; };
    for (const Waiter& waiter : take_waiters(ours)) refuse_lock(waiter);
    commons_.stirred = true;  // calls may wait for signals
}

void Windows::list_task() {
    // A thread may sleep that looks at what was known before.
    if (std::exchange(listed_, true)) return progress_.recheck();
    progress_.add_task(*this);
}

void Windows::grant(const Waiter& waiter) {
    if (waiter.operation != nullptr) return finish(*waiter.operation, Error::none);
    Window::Dealings& dealings = waiter.window->dealings[std::size_t(waiter.origin)];
    if (waiter.exclusive)
        dealings.exclusive_lock = true;
    else
        ++dealings.shared_locks;
    answer(connections_.peer(waiter.window->members[std::size_t(waiter.origin)]), dealings,
           waiter.asked_by);
}

// Grants what is free, exclusive locks in the order of their requests.
bool Windows::advance() {
    std::vector<const Control*> taken;
    for (std::size_t i = 0; i < waiters_.size();) {
        const Waiter waiter = waiters_[i];
        const Rank holder = waiter.window->members[std::size_t(waiter.origin)];
        const bool behind = waiter.exclusive &&
                            std::find(taken.begin(), taken.end(), waiter.control) != taken.end();
        if (behind || !take(*waiter.window, *waiter.control, waiter.exclusive, holder)) {
            if (waiter.exclusive) taken.push_back(waiter.control);
            ++i;
            continue;
        }
        waiter.control->waiting.fetch_sub(1);
        waiters_.erase(waiters_.begin() + std::ptrdiff_t(i));
        grant(waiter);
    }
    for (const SignalWait* wait : signal_waits_) commons_.stirred |= wait->missing() == 0;
    listed_ = !waiters_.empty() || !signal_waits_.empty();
    return !listed_;
}

std::int32_t Windows::SignalWait::missing() const {
    return std::int32_t(std::count_if(members.begin(), members.end(), [&](int member) {
        return window.signals_of(member, kind) == 0;
    }));
}

void Windows::signal(Window& window, Signals::Kind kind, int member) {
    if (!window.parts[std::size_t(member)].signals->raise(kind, window.place)) return;
    const Progress::Guard guard(progress_);
    shared_.wake(window.members[std::size_t(member)]);
}

void Windows::watch(const SignalWait& wait) {
    const Progress::Guard guard(progress_);
    signal_waits_.push_back(&wait);
    list_task();
}

void Windows::forget(const SignalWait& wait) {
    const Progress::Guard guard(progress_);
    std::erase(signal_waits_, &wait);
}

void Windows::set_asleep(bool asleep) {
    for (const SignalWait* wait : signal_waits_) {
        Signals* const own = wait->window.parts[std::size_t(wait->window.self)].signals;
        std::int32_t missing = 0;
        do {
            missing = asleep ? wait->missing() : 0;
            own->sleep_for(wait->kind, missing);
        } while (asleep && wait->missing() != missing);
    }
}

// Wakes all that may wait for a lock which was released.
void Windows::wake(const Window& window) {
    commons_.stirred = true;
    for (const Rank rank : window.mates)
        if (rank != commons_.rank()) shared_.wake(rank);
}

// Releases what a dead rank held: the locks that this rank took for it, and those that it took
// itself where this rank maps the Control, too.
void Windows::give_up_locks(Window& window, Rank dead) {
    const auto found = std::find(window.members.begin(), window.members.end(), dead);
    if (found == window.members.end()) return;
    Window::Dealings& dealings = window.dealings[std::size_t(found - window.members.begin())];
    Control* const own = window.parts[std::size_t(window.self)].control;
    for (; dealings.shared_locks != 0; --dealings.shared_locks) own->unlock(false, window.place);
    if (dealings.exclusive_lock) own->unlock(true, window.place);
    dealings.exclusive_lock = false;
    const auto mate = std::find(window.mates.begin(), window.mates.end(), dead);
    for (const Window::Part& part : window.parts)
        if (part.control != nullptr && mate != window.mates.end())
            part.control->release(dead, std::uint32_t(mate - window.mates.begin()));
    wake(window);
}

// The ranks that hold the lock of a member, as far as this rank knows.
std::vector<Rank> Windows::holders_of(const Window& window, int target) const {
    const Control& control = *window.parts[std::size_t(target)].control;
    std::vector<Rank> holders;
    if (const Rank holder = control.exclusive_holder(); holder != any_source)
        holders.push_back(holder);
    const Rank owner = window.members[std::size_t(target)];
    // The owner's place counts those of other hosts, too.
    for (std::size_t place = 0; place < window.mates.size(); ++place)
        if (control.shares(std::uint32_t(place)) && window.mates[place] != owner)
            holders.push_back(window.mates[place]);
    for (std::size_t member = 0; target == window.self && member < window.members.size(); ++member)
        if (window.dealings[member].shared_locks != 0) holders.push_back(window.members[member]);
    return holders;
}

int Windows::target_of(const Waiter& waiter) {
    const std::vector<Window::Part>& parts = waiter.window->parts;
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const Window::Part& it) {
        return it.control == waiter.control;
    });
    return int(part - parts.begin());
}

std::string Windows::describe_lock(const Waiter& waiter, std::span<const Rank> holders) const {
    const Rank owner = waiter.window->members[std::size_t(target_of(waiter))];
    std::string names;
    for (const Rank holder : holders)
        names += (names.empty() ? "" : ", ") + commons_.name_of(holder);
    return fmt::format("the lock of a window of {}, held by {}", commons_.name_of(owner),
                       names.empty() ? "others" : names);
}

std::string Windows::describe_lock(const void* id) const {
    for (const Waiter& waiter : waiters_)
        if (waiter.operation != nullptr && static_cast<const Request*>(waiter.operation) == id)
            return describe_lock(waiter, holders_of(*waiter.window, target_of(waiter)));
    return {};
}

// A lock that this rank waits for is reported as a wait for its holders, if they are known.
void Windows::report_lock(Waits& waits, const Waiter& waiter) const {
    const Window& window = *waiter.window;
    const int target = target_of(waiter);
    std::vector<Rank> holders = holders_of(window, target);
    waits.notes.push_back(fmt::format("{} waits for {}",
                                      commons_.name_of(window.members[std::size_t(waiter.origin)]),
                                      describe_lock(waiter, holders)));
    if (waiter.operation == nullptr) return;
    if (holders.empty()) holders.push_back(window.members[std::size_t(target)]);
    for (const Rank holder : holders)
        waits.add(Waits::Operation{.kind = Waits::Operation::Kind::access,
                                   .peer = holder,
                                   .id = static_cast<const Request*>(waiter.operation)});
}

}  // namespace torusmp::core::rma
