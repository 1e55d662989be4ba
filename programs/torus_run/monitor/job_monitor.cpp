// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/monitor/job_monitor.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <exception>

#include "config/geometry.h"
#include "programs/torus_run/monitor/runtime_folder.h"
#include "programs/torus_run/streams/messages.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {
namespace {

constexpr std::uint32_t watched = EPOLLIN | EPOLLRDHUP;
constexpr std::size_t most_observers = 64;

JobDescription describe(const Job& job, pid_t number) {
    JobDescription it;
    it.pid = number;
    it.started = std::time(nullptr);
    for (const Program& program : job.common.programs) {
        if (!it.program.empty()) it.program += " : ";
        it.program += fmt::format("{}", fmt::join(program.arguments, " "));
    }
    it.host = job.host;
    it.size = job.size();
    const routing::Torus torus = config::rank_torus(job.settings, job.size());
    for (int d = 0; d < torus.dimensions(); ++d) {
        it.dims.push_back(torus.extent(d));
        it.periodic.push_back(torus.periodic(d) ? 1 : 0);
    }
    it.node_of.assign(std::size_t(job.size()), 0);
    for (const HostPlan& host : job.hosts) {
        for (const int rank : host.ranks) it.node_of[std::size_t(rank)] = int(it.hosts.size());
        it.hosts.push_back(host.name.empty() ? job.host : host.name);
    }
    return it;
}

}  // namespace

JobMonitor::JobMonitor(Loop& loop, Watch watch) : loop_(loop), watch_(std::move(watch)) {}

JobMonitor::~JobMonitor() {
    if (listener_) {
        loop_.forget(listener_.get());
        unlink(path_.c_str());
    }
    for (Observer& observer : observers_)
        if (observer.channel.open()) loop_.forget(observer.channel.fd());
}

std::string JobMonitor::open(const Job& job, pid_t number) {
    try {
        description_ = encode(describe(job, number));
        path_ = job_socket_path(runtime_folder(), number);
        listener_ = listen_for_observers(path_);
    } catch (const std::exception& error) {
        return error.what();
    }
    loop_.watch(listener_.get(), EPOLLIN, [this](auto) { accept_some(); });
    return {};
}

void JobMonitor::accept_some() {
    while (true) {
        base::Descriptor socket(
            accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        const uid_t user = user_at(socket.get());
        if ((user != geteuid() && user != 0) || observers_.size() >= most_observers) continue;
        Observer& observer = observers_.emplace_back(std::move(socket));
        loop_.watch(observer.channel.fd(), watched, [this, &observer](auto events) {
            if (events & EPOLLOUT) observer.channel.flush();
            hear(observer);
        });
    }
}

void JobMonitor::hear(Observer& observer) {
    bool lives = observer.channel.receive();
    Frame frame;
    while (lives && observer.channel.next(frame)) lives = understand(observer, frame);
    if (!lives || observer.channel.damaged()) {
        loop_.forget(observer.channel.fd());
        observer.channel.close();
        observer.gone = true;
        set_interval();
    } else if (!observer.channel.has_unsent()) {
        loop_.change(observer.channel.fd(), watched);
    }
}

// Returns false if the observer is to be disconnected.
bool JobMonitor::understand(Observer& observer, const Frame& frame) {
    if (frame.header.kind != std::uint32_t(MonitorFrame::look)) return false;
    if (frame.header.sequence != monitor_protocol) {
        const std::string why = fmt::format(
            "the job runs under torus-run {}, whose monitoring protocol has version {} (this "
            "program: version {}): use the torus-top of that torus-run",
            TORUSMP_VERSION, monitor_protocol, frame.header.sequence);
        const auto bytes = std::as_bytes(std::span(why));
        send(observer, MonitorFrame::refused, share({bytes.begin(), bytes.end()}));
        return false;
    }
    std::uint32_t interval = 0;
    if (frame.body.size() != sizeof interval) return false;
    std::memcpy(&interval, frame.body.data(), sizeof interval);
    observer.interval =
        std::chrono::milliseconds(std::clamp(interval, shortest_interval, longest_interval));
    observer.seen = 0;
    send(observer, MonitorFrame::job, share(description_));
    set_interval();
    // The first sample is sent after all daemons have had time to answer.
    observer.next = Clock::now() + std::min(observer.interval, std::chrono::milliseconds(100));
    return true;
}

void JobMonitor::send(Observer& observer, MonitorFrame kind, SharedBytes bytes) {
    observer.channel.send({std::uint32_t(kind), monitor_protocol, 0}, std::move(bytes));
    if (observer.channel.open() && observer.channel.has_unsent())
        loop_.change(observer.channel.fd(), watched | EPOLLOUT);
}

void JobMonitor::set_interval() {
    std::chrono::milliseconds shortest{0};
    for (const Observer& observer : observers_)
        if (!observer.gone && observer.interval.count() != 0 &&
            (shortest.count() == 0 || observer.interval < shortest))
            shortest = observer.interval;
    if (shortest == interval_) return;
    interval_ = shortest;
    watch_(interval_);
    if (interval_.count() != 0) return;
    ranks_.clear();
    ways_.clear();
    devices_.clear();
}

void JobMonitor::take(int node, Sample sample, bool here) {
    if (interval_.count() == 0) return;  // was in flight when the last observer left
    ++version_;
    // The minimum delay of a sample so far is the offset between the clocks.
    const std::int64_t ahead = here ? 0 : core::page_time(Clock::now()) - sample.now;
    const auto clock = clocks_.try_emplace(node, ahead).first;
    clock->second = std::min(clock->second, ahead);
    for (RankRecord& rank : sample.ranks) {
        if (rank.since != 0) rank.since += clock->second;
        rank.at += clock->second;
        ranks_[rank.rank] = {rank, version_};
    }
    for (const WayRecord& way : sample.ways) ways_[{way.rank, way.way}] = {way, version_};
    for (const DeviceRecord& device : sample.devices) {
        Versioned<DeviceRecord>& known = devices_[{node, device.way}];
        if (known.version == 0 || known.record != device) known = {device, version_};
    }
}

// An observer that has not read the last sample is skipped; its next sample has all changes.
void JobMonitor::tick(Clock::time_point now) {
    drop_gone();
    for (Observer& observer : observers_) {
        if (observer.interval.count() == 0 || now < observer.next) continue;
        observer.next = now + observer.interval;
        if (!observer.channel.has_unsent()) send_news(observer, now);
    }
}

void JobMonitor::send_news(Observer& observer, Clock::time_point now) {
    Sample sample;
    sample.now = core::page_time(now);
    for (const auto& [key, it] : ranks_)
        if (it.version > observer.seen) sample.ranks.push_back(it.record);
    for (const auto& [key, it] : ways_)
        if (it.version > observer.seen) sample.ways.push_back(it.record);
    for (const auto& [key, it] : devices_)
        if (it.version > observer.seen) sample.devices.push_back(it.record);
    observer.seen = version_;
    send(observer, MonitorFrame::sample, share(encode(sample)));
}

void JobMonitor::drop_gone() {
    observers_.remove_if([](const Observer& observer) { return observer.gone; });
}

std::optional<JobMonitor::Clock::time_point> JobMonitor::next_tick() const {
    std::optional<Clock::time_point> next;
    for (const Observer& observer : observers_) {
        if (observer.gone) return Clock::now();
        if (observer.interval.count() != 0)
            next = next ? std::min(*next, observer.next) : observer.next;
    }
    return next;
}

void JobMonitor::over(int exit_code) {
    Packer packer;
    packer.add(std::int32_t(exit_code));
    const SharedBytes bytes = share(packer.take());
    for (Observer& observer : observers_) {
        if (observer.gone) continue;
        if (observer.interval.count() != 0) send_news(observer, Clock::now());
        send(observer, MonitorFrame::over, bytes);
    }
}

}  // namespace torusmp::torus_run
