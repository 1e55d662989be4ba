// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/monitor/rank_pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/descriptor.h"
#include "base/process_state.h"
#include "base/text.h"

namespace torusmp::torus_run {
namespace {

using core::ControlPage;
using core::page_time;
using core::PageState;

constexpr std::chrono::seconds ask_interval{1};
// A rank that does not answer within this time is computing, or is not scheduled.
constexpr std::chrono::milliseconds time_to_answer{250};

}  // namespace

void RankPages::Unmap::operator()(ControlPage* page) const {
    munmap(page, sizeof(ControlPage));
}

void RankPages::started(int rank, pid_t pid) {
    ranks_[rank].pid = pid;
}

// Maps only memory that cannot shrink, so that reading it never kills this process.
void RankPages::opened(int rank, pid_t pid, std::span<const std::byte> said) {
    std::int32_t descriptor = -1;
    if (said.size() == sizeof descriptor) std::memcpy(&descriptor, said.data(), said.size());
    Rank& it = ranks_[rank];
    it.pid = pid;
    const std::string path = fmt::format("/proc/{}/fd/{}", pid, descriptor);
    const base::Descriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat info {};
    if (!file || fstat(file.get(), &info) != 0 || info.st_size != off_t(sizeof(ControlPage)) ||
        (fcntl(file.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0)
        return;
    void* const memory =
        mmap(nullptr, sizeof(ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return;
    it.page.reset(static_cast<ControlPage*>(memory));
    if (!it.page->valid()) it.page.reset();
}

void RankPages::ended(int rank) {
    ranks_[rank].gone = true;
}

std::string RankPages::deed(int rank) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end() || found->second.page == nullptr) return {};
    const std::string deed = found->second.page->deed();
    return deed.empty() ? deed : " while " + base::printable(deed);
}

void RankPages::watch(std::chrono::milliseconds interval) {
    interval_ = interval;
    everything_ = true;
    next_ask_ = next_sample_ = Clock::now();
}

void RankPages::ask(Clock::time_point now) {
    for (auto& [number, rank] : ranks_) {
        if (rank.page == nullptr || rank.gone) continue;
        // A rank with an open request is not asked again.
        if ((rank.page->asked().fetch_or(ControlPage::state_wanted) & ControlPage::state_wanted) ==
            0)
            rank.asked = now;
    }
    const Clock::duration interval = ask_interval;
    next_ask_ =
        now + (interval_.count() != 0 ? std::min<Clock::duration>(interval, interval_) : interval);
}

std::optional<Sample> RankPages::tick(Clock::time_point now) {
    std::optional<Sample> sample;
    if (interval_.count() != 0 && now >= next_sample_) {
        sample = take_sample(now);
        next_sample_ = now + interval_;
    }
    if (now >= next_ask_) ask(now);
    return sample;
}

std::optional<Sample> RankPages::last(Clock::time_point now) {
    if (interval_.count() == 0) return std::nullopt;
    return take_sample(now);
}

std::optional<RankPages::Clock::time_point> RankPages::next_tick() const {
    const bool any = std::any_of(ranks_.begin(), ranks_.end(), [](const auto& it) {
        return it.second.page != nullptr && !it.second.gone;
    });
    std::optional<Clock::time_point> next;
    if (any) next = next_ask_;
    if (interval_.count() != 0) next = next ? std::min(*next, next_sample_) : next_sample_;
    return next;
}

std::optional<RankRecord> RankPages::look(int rank, Clock::time_point now) const {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) return std::nullopt;
    std::optional<PageState> state;
    return look(rank, found->second, now, state);
}

std::vector<RankPages::Arrived> RankPages::arrivals() const {
    std::vector<Arrived> all;
    for (const auto& [number, rank] : ranks_) {
        const auto state = rank.page != nullptr ? rank.page->read() : std::nullopt;
        if (!state) continue;
        for (const core::LinkArrivals& counts : state->arrivals)
            if (counts.device != 0) all.push_back({number, counts});
    }
    return all;
}

RankRecord RankPages::look(int number, const Rank& rank, Clock::time_point now,
                           std::optional<PageState>& state) const {
    RankRecord record;
    record.rank = number;
    record.pid = rank.pid;
    record.at = page_time(now);
    record.cpu = rank.sent.cpu;
    const bool lives = !rank.gone;
    const auto times = lives ? base::process_state(rank.pid) : base::ProcessState();
    if (lives) record.cpu = times.cpu;
    if (rank.page != nullptr) state = rank.page->read();
    if (state) {
        record.at = std::min(state->at, page_time(now));
        record.since = state->at;
        record.posted = state->posted;
        record.unexpected = state->unexpected;
        record.requests = state->requests;
        record.collectives = state->collectives;
        record.windows = state->windows;
    }
    const bool answers =
        rank.page != nullptr && (now - rank.asked < time_to_answer ||
                                 (rank.page->asked().load() & ControlPage::state_wanted) == 0);
    const auto enter = [&](RankState now_in) {
        record.state = now_in;
        // The time since the state was first seen.
        if (rank.sent.state == now_in && rank.sent.since != 0) record.since = rank.sent.since;
    };
    if (rank.gone)
        enter(RankState::ended);
    else if (times.state == 'T' || times.state == 't')
        enter(RankState::stopped);
    else if (!state)
        enter(RankState::unseen);
    else if (state->phase == core::Phase::left)
        enter(RankState::left);
    else if (state->wait != core::WaitKind::none && state->wait <= core::WaitKind::other) {
        record.state = RankState::waiting;
        record.since = state->since;
        record.wait = state->wait;
        record.peer = state->peer;
        record.tag = state->tag;
        record.bytes = state->bytes;
        record.call = state->call;
        record.detail = state->detail;
    } else if (state->phase == core::Phase::joining)
        enter(RankState::joining);
    else if (!answers)
        record.state = RankState::computing;
    else
        enter(RankState::active);
    return record;
}

Sample RankPages::take_sample(Clock::time_point now) {
    Sample sample;
    sample.now = page_time(now);
    for (auto& [number, rank] : ranks_) {
        std::optional<PageState> state;
        const RankRecord record = look(number, rank, now, state);
        if (everything_ || record != rank.sent) sample.ranks.push_back(record);
        rank.sent = record;
        for (int way = 0; state && way < core::page_ways; ++way) {
            core::WayCounts& sent = rank.ways_sent[std::size_t(way)];
            const core::WayCounts& counts = state->ways[std::size_t(way)];
            if (counts == sent && !(everything_ && counts.peer >= 0)) continue;
            sent = counts;
            sample.ways.push_back({number, way, counts});
        }
    }
    everything_ = false;
    return sample;
}

}  // namespace torusmp::torus_run
