// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/progress.h"

#include <sched.h>

#include <utility>

#include "base/assert.h"
#include "core/settings.h"

namespace torusmp::core {
namespace {

using transport::Clock;

// Polls between two reads of the clock, if a poll costs no more than a read.
constexpr unsigned polls_per_look = 64;
constexpr unsigned kernel_polls_per_look = 4;
// Living ranks may send without end; the queues of one peer do not hold more than this.
constexpr int most_polls_at_a_loss = 4096;
// A transport may look at some of its sockets only once in so many polls.
constexpr int most_empty_polls = 64;

}  // namespace

Progress::Progress(Commons& commons, Connections& connections, PacketSender& sender,
                   FaultHandler& faults, LinkManager& links, Shortcuts& shortcuts,
                   transport::Sink& sink, std::function<Waits()> waits,
                   std::function<void(const Waiting*)> publish)
    : commons_(commons),
      options_(commons.options),
      connections_(connections),
      sender_(sender),
      faults_(faults),
      links_(links),
      shortcuts_(shortcuts),
      sink_(sink),
      waits_(std::move(waits)),
      publish_(std::move(publish)),
      has_thread_(options_.value(setting::progress) == ProgressMode::thread),
      locking_(options_.threads || has_thread_),
      watchdog_(options_.value(setting::watchdog)),
      longest_spin_(options_.value(setting::spin)),
      spin_(longest_spin_.count()),
      alone_(options_.direct.size() <= 1),
      polls_per_look_(polls_per_look),
      asked_(commons.page.asked()) {
    for (const transport::Interface* it : connections_.interfaces())
        if (it->can().polls_kernel) polls_per_look_ = kernel_polls_per_look;
}

void Progress::start() {
    if (has_thread_) thread_ = std::thread([this] { thread_main(); });
}

void Progress::stop() {
    if (!thread_.joinable()) return;
    {
        const Guard guard(*this);
        stopping_ = true;
        commons_.stirred = true;
    }
    thread_.join();
}

// Otherwise a rank that tests in a loop keeps the core until its time slice ends, and the rank for
// which it waits does not run.
void Progress::yield_core() const {
    if (options_.oversubscribed) [[unlikely]]
        sched_yield();
}

bool Progress::poll_locked() {
    const bool moved = poll_unlocked();
    if (moved) known_completed_ = commons_.completed;
    return moved;
}

bool Progress::poll_unlocked() {
    TORUSMP_ASSERT(commons_.lock.held(), commons_.rank());
    bool moved = false;
    for (transport::Interface* it : connections_.interfaces()) moved |= it->poll(sink_) > 0;
    if (commons_.stirred) [[unlikely]] {
        commons_.stirred = false;
        moved = true;
        if (connections_.has_unreached()) faults_.close_unreached();
    }
    Loopback& loopback = connections_.loopback();
    if (!loopback.empty()) moved |= loopback.poll(sink_) > 0;
    if (commons_.errands != 0) [[unlikely]]
        moved |= do_errands();
    if (sender_.has_backlog()) moved |= sender_.flush_backlog();
    if ((moved || looking_ != 0) && !tasks_.empty()) moved |= advance_tasks(moved);
    if (moved) moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (asked_.load(std::memory_order_relaxed) != 0) [[unlikely]]
        answer_asked();
    return moved;
}

void Progress::take_arrived() {
    TORUSMP_ASSERT(commons_.lock.held(), commons_.rank());
    int empty = 0;
    for (int polls = 0; polls < most_polls_at_a_loss; ++polls) {
        int taken = 0;
        for (transport::Interface* it : connections_.interfaces()) taken += int(it->poll(sink_));
        empty = taken == 0 ? empty + 1 : 0;
        if (empty == most_empty_polls) break;
    }
}

bool Progress::do_errands() {
    if ((commons_.errands & Commons::note) != 0) {
        commons_.errands &= ~Commons::note;
        notes_.fetch_add(1, std::memory_order_relaxed);
    }
    bool moved = false;
    if ((commons_.errands & Commons::shortcuts) != 0) moved |= shortcuts_.poll();
    if ((commons_.errands & Commons::links) != 0) moved |= links_.poll();
    return moved;
}

// Whether the next poll has work that no interface announces.
bool Progress::has_news() const {
    return commons_.stirred || !connections_.loopback().empty();
}

// Called before the last release of the lock: a poll or any other call may have ended the wait of a
// sleeping thread, which nothing else might wake.
void Progress::wake_sleeper() noexcept {
    TORUSMP_ASSERT(commons_.lock.held(), commons_.rank());
    TORUSMP_ASSERT(known_completed_ <= commons_.completed, known_completed_, commons_.completed);
    if (commons_.completed != known_completed_) {
        known_completed_ = commons_.completed;
        commons_.stirred = true;  // tasks may have waited for this, too
    }
    if (!asleep_) return;
    const bool moved = moves_.load(std::memory_order_relaxed) != known_moves_;
    if (!moved && !has_news()) return;
    if (!std::exchange(woken_, true)) connections_.interfaces().front()->wake();
    if (!moved) return;  // the woken thread polls, and the others learn of its result
    known_moves_ = moves_.load(std::memory_order_relaxed);
    if (others_asleep_ != 0) moved_.notify_all();
}

void Progress::recheck() {
    Guard guard(*this);
    commons_.stirred = true;
}

// If nothing has moved, advances only tasks that look at memory. Returns true if one has finished.
bool Progress::advance_tasks(bool moved) {
    // A task may add tasks; those wait for the next turn.
    bool finished = false;
    for (std::size_t i = 0; i < tasks_.size();) {
        const Listed listed = tasks_[i];
        if (!moved && !listed.looks) {
            ++i;
            continue;
        }
        looking_ -= listed.looks ? 1 : 0;
        TORUSMP_ASSERT(looking_ >= 0, commons_.rank(), looking_, tasks_.size());
        if (listed.task->advance()) {
            TORUSMP_ASSERT(tasks_[i].task == listed.task, commons_.rank(), i);
            tasks_.erase(tasks_.begin() + std::ptrdiff_t(i));
            finished = true;
        } else {
            tasks_[i].looks = listed.task->looks();
            looking_ += tasks_[i].looks ? 1 : 0;
            ++i;
        }
    }
    TORUSMP_ASSERT(looking_ == std::count_if(tasks_.begin(), tasks_.end(),
                                             [](const Listed& it) { return it.looks; }),
                   commons_.rank(), looking_, tasks_.size());
    return finished;
}

void Progress::add_task(Task& task) {
    Guard guard(*this);
    TORUSMP_ASSERT(std::none_of(tasks_.begin(), tasks_.end(),
                                [&](const Listed& it) { return it.task == &task; }),
                   commons_.rank(), tasks_.size());
    if (!task.advance()) {
        tasks_.push_back({&task, task.looks()});
        looking_ += tasks_.back().looks ? 1 : 0;
    }
    // A sleeping thread has already published which memory tasks look at, which may be stale.
    if (asleep_ && task.looks()) commons_.stirred = true;
}

void Progress::set_tasks_asleep(bool asleep) {
    for (const Listed& listed : tasks_)
        if (listed.looks) listed.task->set_asleep(asleep);
}

void Progress::linger(std::string_view what) {
    Guard guard(*this);
    waits_in_ = what;
    if (what.empty()) return;
    for (const Listed& listed : tasks_) listed.task->linger();
}

void Progress::thread_main() {
    while (!stopping_) {
        const std::uint64_t moves = moves_.load(std::memory_order_acquire);
        if (poll())
            std::this_thread::yield();
        else
            sleep_until(Clock::time_point::max(), moves);
    }
}

void Progress::ask_for(unsigned what) noexcept {
    asked_ |= what;
    connections_.interfaces().front()->wake();
}

void Progress::answer_asked() {
    const unsigned asked = asked_.exchange(0);
    if ((asked & ControlPage::state_wanted) != 0) publish();
    if ((asked & ControlPage::report_wanted) != 0) report_waits(WaitsWanted::text);
    if ((asked & ControlPage::answer_wanted) != 0) report_waits(WaitsWanted::answer);
    if ((asked & ControlPage::interrupt_wanted) != 0 && options_.on_interrupt) {
        options_.on_interrupt();
        commons_.stirred = true;  // what it did may have ended a wait
    }
}

void Progress::list(Waiter& waiter) {
    Guard guard(*this);
    TORUSMP_ASSERT(!waiter.listed_, commons_.rank(), waiter.what_);
    waiter.listed_ = true;
    waiters_.push_back(&waiter);
}

void Progress::unlist(Waiter& waiter) {
    Guard guard(*this);
    [[maybe_unused]] const auto removed = std::erase(waiters_, &waiter);
    TORUSMP_ASSERT(removed == 1, commons_.rank(), removed, waiter.what_);
}

void Progress::report_waits(WaitsWanted why) {
    Guard guard(*this);
    const Waits waits = waits_();
    if (!options_.on_waits || !options_.on_waits(waits, why))
        commons_.log(describe(waits, [this](Rank rank) { return commons_.name_of(rank); }));
}

void Progress::report(Waits& waits) const {
    for (const Listed& listed : tasks_) listed.task->report(waits);
    if (sought_ != nullptr) report_sought(waits);
    const auto now = Clock::now();
    for (const Waiter* waiter : waiters_) {
        const int call = int(waits.calls.size());
        const auto began = waiter->began_.load(std::memory_order_relaxed);
        Awaited::List awaited;
        if (waiter->awaited_ != nullptr) waiter->awaited_->list(awaited);
        const double seconds =
            began == Clock::time_point{} ? 0.0 : std::chrono::duration<double>(now - began).count();
        waits.calls.push_back({std::string(waiter->what_), seconds, awaited.any});
        const auto mark = [&](auto& entry) {
            if (awaited.has(entry.id)) entry.call = call;
        };
        for (auto& entry : waits.operations) mark(entry);
        for (auto& entry : waits.collectives) mark(entry);
        for (Waits::Operation& entry : awaited.operations) {
            entry.call = call;
            waits.add(entry);
        }
    }
}

// The call returns, and is likely to be repeated until it finds something.
void Progress::report_sought(Waits& waits) const {
    Awaited::List sought;
    sought_->list(sought);
    waits.looks_in = looks_in_;
    waits.sought = std::move(sought.operations);
    for (const auto& entry : waits.operations)
        if (sought.has(entry.id)) waits.sought.push_back(entry);
    for (const auto& entry : waits.collectives)
        if (sought.has(entry.id)) waits.looks_in += " of " + entry.name;
}

void Progress::publish() {
    Guard guard(*this);
    publish_(waiting_ ? &*waiting_ : nullptr);
}

void Progress::publish_wait(const Waiting& waiting, const Waiter& waiter) {
    Guard guard(*this);
    waiting_ = waiting;
    waiter_ = &waiter;
    publish();
}

// If several threads wait, the last one to publish has been published.
void Progress::end_wait(const Waiter& waiter) {
    Guard guard(*this);
    if (waiter_ != &waiter) return;
    waiter_ = nullptr;
    waiting_.reset();
    publish();
}

std::string Progress::first_task() const {
    if (tasks_.empty()) return {};
    Waits waits;
    tasks_.front().task->report(waits);
    return waits.collectives.empty() ? std::string() : describe(waits.collectives.front());
}

}  // namespace torusmp::core
