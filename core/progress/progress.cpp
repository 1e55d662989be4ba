// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/progress.h"

#include <poll.h>
#include <sched.h>
#include <utility>

#include <algorithm>

namespace torusmp::core {
namespace {

using transport::Clock;

// Polls between two looks at the clock, where a poll costs no more than a look.
constexpr unsigned polls_per_look = 64;
constexpr unsigned kernel_polls_per_look = 4;
// Polls at the beginning of a wait between which the processor is not told that this is a spin
// loop: as many as a short message takes a few times over.
constexpr unsigned polls_without_pause = 128;
// How long a wait lasts before tasks are told; then twice as long, and so on.
constexpr std::chrono::nanoseconds first_linger = std::chrono::seconds(1);
// Times the core is yielded to other ranks before sleeping, where ranks outnumber cores.
constexpr unsigned most_yields = 16;
// Of these, in vain: nobody else took the core. A rank that is alone on its host may share the
// cores with ranks in containers of their own, among which the kernel shares them as it sees fit,
// whoever yields; and it is woken with what the kernel has done for the packet anyway.
constexpr unsigned most_vain_yields = 2;
// A yield that took less was in vain.
constexpr std::chrono::nanoseconds shortest_turn = std::chrono::microseconds(1);
// A wait that lasts longer is published: nobody who sleeps answers when asked.
constexpr std::chrono::nanoseconds publish_after = std::chrono::milliseconds(100);

// Tells the processor that this is a spin loop.
inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");  // its yield does nothing on most of them
#endif
}

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
      locking_(options_.threads || options_.progress_thread),
      spin_(options_.spin.count()),
      alone_(options_.direct.size() <= 1),
      polls_per_look_(polls_per_look),
      asked_(commons.page.asked()) {
    for (const transport::Interface* it : connections_.interfaces())
        if (it->can().polls_kernel) polls_per_look_ = kernel_polls_per_look;
}

void Progress::start() {
    if (options_.progress_thread) thread_ = std::thread([this] { thread_main(); });
}

void Progress::stop() {
    stopping_ = true;
    if (!thread_.joinable()) return;
    wake_sleepers();
    thread_.join();
}

bool Progress::poll_unlocked() {
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
    // Others may sleep although what they wait for has just been done here.
    if (moved && (asleep_ || others_asleep_ != 0)) wake_sleepers();
    return moved;
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

void Progress::wake_sleepers() noexcept {
    connections_.interfaces().front()->wake();
    moved_.notify_all();
}

void Progress::stir() {
    Guard guard(*this);
    commons_.stirred = true;
    poll_unlocked();
}

// If nothing has moved, only those that look at memory. True: one has finished.
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
        if (listed.task->advance()) {
            tasks_.erase(tasks_.begin() + std::ptrdiff_t(i));
            finished = true;
        } else {
            tasks_[i].looks = listed.task->looks();
            looking_ += tasks_[i].looks ? 1 : 0;
            ++i;
        }
    }
    return finished;
}

void Progress::add_task(Task& task) {
    Guard guard(*this);
    if (!task.advance()) {
        tasks_.push_back({&task, task.looks()});
        looking_ += tasks_.back().looks ? 1 : 0;
    }
    // A thread that sleeps already has told others what tasks look at, which may be no longer true.
    if (asleep_ && task.looks()) wake_sleepers();
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

// Looks at what the polls before have brought before it polls once more: so nothing stands between
// what a poll has brought and the caller.
void Progress::Waiter::turn() {
    look();
    if (!progress_.locking_) [[likely]] {
        progress_.poll_unlocked();
        return;
    }
    // Who waits does not stand in line with threads that have something to do.
    const std::unique_lock<std::recursive_mutex> lock(progress_.mutex_, std::try_to_lock);
    if (lock) progress_.poll_unlocked();
}

void Progress::Waiter::look() {
    // Another thread may have moved what this one waits for, since it last looked.
    if (const std::uint64_t moves = progress_.moves_.load(std::memory_order_acquire);
        moves != moves_seen_) {
        // What ranks tell each other about their waiting does not end the wait.
        const std::uint64_t notes = progress_.notes_.load(std::memory_order_relaxed);
        if (moves - moves_seen_ > notes - notes_seen_) began_.store({}, std::memory_order_relaxed);
        const bool first = moves_seen_ == ~std::uint64_t{0};
        moves_seen_ = moves;
        notes_seen_ = notes;
        idle_turns_ = 0;
        vain_yields_ = 0;
        // Who begins to wait has just polled; but another thread may have moved something since.
        if (!first || progress_.locking_) return;
    }
    ++idle_turns_;
    const Options& options = progress_.options_;
    if (options.oversubscribed) {
        // The peer can only answer when it has the core: yield it, and sleep if that does not help.
        // Waking a sleeper costs more than a few turns of all ranks.
        if (idle_turns_ <= most_yields && vain_yields_ < most_vain_yields) return yield();
    }
    const std::chrono::nanoseconds spin(progress_.spin_.load(std::memory_order_relaxed));
    const bool spins = !options.oversubscribed && spin.count() != 0;
    if (spins && idle_turns_ % progress_.polls_per_look_ != 0) {
        // Not at first: what is under way already is found sooner.
        if (idle_turns_ > polls_without_pause) pause();
        return;
    }
    const auto now = Clock::now();
    auto began = began_.load(std::memory_order_relaxed);
    if (began == Clock::time_point{})
        began_.store(began = warned_ = now, std::memory_order_relaxed);
    if (spins && now - began < spin) return;
    if (!listed_) progress_.list(*this);
    speak(now);
    progress_.sleep_until(next_word(), moves_seen_);
}

// Among ranks of one host, which wake a sleeper themselves, no yield counts as vain.
void Progress::Waiter::yield() {
    if (!progress_.alone_) {
        sched_yield();
        return;
    }
    const auto before = Clock::now();
    sched_yield();
    if (Clock::now() - before < shortest_turn) ++vain_yields_;
}

// Publishes and reports a long wait, and decides when the next report is due.
void Progress::Waiter::speak(Clock::time_point now) {
    const std::chrono::nanoseconds watchdog = progress_.options_.watchdog;
    if (linger_at_ == Clock::time_point{}) {
        // Several times before the watchdog reports, so that it can include what has been found
        // out.
        linger_step_ = watchdog.count() != 0 ? std::min(first_linger, watchdog / 8) : first_linger;
        linger_at_ = now + linger_step_;
    }
    const auto began = began_.load(std::memory_order_relaxed);
    if (published_ != began && now - began >= publish_after) {
        spoke_ = true;
        published_ = began;
        const Request* const request = awaited_ != nullptr ? awaited_->request() : nullptr;
        progress_.publish_wait({what_, began, request}, *this);
    }
    if (now >= linger_at_) {
        lingers_ = spoke_ = true;
        linger_step_ *= 2;
        linger_at_ = now + linger_step_;
        progress_.linger(what_);
    }
    if (watchdog.count() != 0 && now - warned_ >= watchdog) {
        progress_.tell(WaitsWanted::overdue);
        warned_ = now;
    }
}

Clock::time_point Progress::Waiter::next_word() const {
    const std::chrono::nanoseconds watchdog = progress_.options_.watchdog;
    auto next = linger_at_;
    if (watchdog.count() != 0) next = std::min(next, warned_ + watchdog);
    const auto began = began_.load(std::memory_order_relaxed);
    if (published_ != began) next = std::min(next, began + publish_after);
    return next;
}

void Progress::Waiter::end() {
    progress_.unlist(*this);
    if (!spoke_) return;
    if (lingers_) progress_.linger({});
    progress_.end_wait(*this);
}

// Sleeps unless something has moved since the caller saw `moves_seen`: with several threads that
// may have been what it waits for, and nobody would wake it again. One thread sleeps in the
// interfaces, the others until that one, or any other, has moved something.
void Progress::sleep_until(Clock::time_point deadline, std::uint64_t moves_seen) {
    std::unique_lock<std::recursive_mutex> lock(mutex_, std::defer_lock);
    if (locking_) lock.lock();
    if (asleep_) {
        ++others_asleep_;
        const auto news = [&] { return !asleep_ || moves_ != moves_seen; };
        if (deadline == Clock::time_point::max())
            moved_.wait(lock, news);
        else
            moved_.wait_until(lock, deadline, news);
        --others_asleep_;
        return;
    }
    if (looking_ != 0) set_tasks_asleep(true);
    for (transport::Interface* it : connections_.interfaces()) it->prepare_sleep();
    poll_unlocked();
    if (moves_.load(std::memory_order_relaxed) == moves_seen && !stopping_) {
        asleep_ = true;
        if (locking_) lock.unlock();
        sleep_in_interfaces(deadline);
        // Where others want the core, who waits gives it to them.
        if (contention_.slept()) spin_ = contention_.present() ? 0 : options_.spin.count();
        if (locking_) lock.lock();
        asleep_ = false;
        if (others_asleep_ != 0) moved_.notify_all();  // one of them watches from now on
    }
    for (transport::Interface* it : connections_.interfaces()) it->cancel_sleep();
    if (looking_ != 0) set_tasks_asleep(false);
}

void Progress::sleep_in_interfaces(transport::Clock::time_point deadline) {
    const auto interfaces = connections_.interfaces();
    if (interfaces.size() == 1) return interfaces.front()->sleep(deadline);
    std::array<pollfd, Connections::most_interfaces> watched{};
    for (std::size_t i = 0; i < interfaces.size(); ++i)
        watched[i] = {interfaces[i]->descriptor(), POLLIN, 0};
    // Interfaces with time limits of their own need to be looked at now and then.
    const auto most = std::chrono::seconds(1);
    const auto left = std::clamp<std::chrono::nanoseconds>(deadline - Clock::now(),
                                                           std::chrono::nanoseconds(0), most);
    const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    ppoll(watched.data(), interfaces.size(), &time, nullptr);
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
    if ((asked & ControlPage::report_wanted) != 0) tell(WaitsWanted::text);
    if ((asked & ControlPage::answer_wanted) != 0) tell(WaitsWanted::answer);
    if ((asked & ControlPage::interrupt_wanted) != 0 && options_.on_interrupt) {
        options_.on_interrupt();
        commons_.stirred = true;  // what it did may have ended a wait
    }
}

void Progress::list(Waiter& waiter) {
    Guard guard(*this);
    waiter.listed_ = true;
    waiters_.push_back(&waiter);
}

void Progress::unlist(Waiter& waiter) {
    Guard guard(*this);
    std::erase(waiters_, &waiter);
}

void Progress::tell(WaitsWanted why) {
    Guard guard(*this);
    const Waits waits = waits_();
    if (!options_.on_waits || !options_.on_waits(waits, why))
        commons_.log(describe(waits, [this](Rank rank) { return commons_.name_of(rank); }));
}

void Progress::report(Waits& waits) const {
    for (const Listed& listed : tasks_) listed.task->report(waits);
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
            if (entry.id != nullptr &&
                std::find(awaited.ids.begin(), awaited.ids.end(), entry.id) != awaited.ids.end())
                entry.call = call;
        };
        for (auto& entry : waits.operations) mark(entry);
        for (auto& entry : waits.collectives) mark(entry);
        for (Waits::Operation& entry : awaited.operations) {
            entry.call = call;
            waits.add(entry);
        }
    }
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

// Of several threads that wait, the last one has been published.
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
