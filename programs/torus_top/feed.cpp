// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/feed.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "base/text.h"
#include "config/geometry_text.h"
#include "programs/torus_run/monitor/runtime_folder.h"
#include "programs/torus_run/streams/messages.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_top {

using launch::FrameHeader;
using std::chrono::milliseconds;
using torus_run::Frame;
using torus_run::MonitorFrame;
using Clock = std::chrono::steady_clock;

namespace {

// Time limit for a job to send its description, also on a busy host.
constexpr milliseconds job_timeout{20'000};

class LiveFeed final : public Feed {
  public:
    LiveFeed(pid_t job, milliseconds interval)
        : channel_(connect(job)), name_(fmt::format("job {}", job)) {
        torus_run::Packer packer;
        packer.add(std::uint32_t(interval.count()));
        channel_.send({std::uint32_t(MonitorFrame::look), torus_run::monitor_protocol, 0},
                      torus_run::share(packer.take()));
        const auto end = Clock::now() + job_timeout;
        Frame frame;
        while (!job_) {
            const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
            if (!next_frame(frame, left))
                throw std::runtime_error(
                    over_ ? fmt::format("{} has just ended", name_)
                          : fmt::format("{} does not answer: its torus-run is stopped or has "
                                        "another version",
                                        name_));
            take(frame);
        }
    }

    const torus_run::JobDescription& job() const override { return *job_; }
    std::optional<torus_run::Sample> next(milliseconds timeout) override {
        const auto end = Clock::now() + timeout;
        Frame frame;
        while (!over_ &&
               next_frame(frame, std::max(std::chrono::ceil<milliseconds>(end - Clock::now()),
                                          milliseconds(0))))
            if (auto sample = take(frame)) return sample;
        return std::nullopt;
    }
    bool over() const override { return over_; }
    std::optional<int> exit_code() const override { return exit_code_; }

  private:
    static base::Descriptor connect(pid_t job) {
        const std::string path = torus_run::job_socket_path(torus_run::runtime_folder(), job);
        base::Descriptor socket = torus_run::connect_to_job(path);
        if (!socket)
            throw std::runtime_error(
                fmt::format("no job {} of this user runs on this host ({}: {}); torus-top without "
                            "an argument lists the running jobs",
                            job, path, std::strerror(errno)));
        return socket;
    }

    bool next_frame(Frame& frame, milliseconds timeout) {
        const auto end = Clock::now() + timeout;
        while (!channel_.next(frame)) {
            pollfd readable{channel_.fd(), POLLIN, 0};
            const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
            const int found = poll(&readable, 1, int(std::max(left.count(), milliseconds::rep(0))));
            if (found == 0) return false;
            if (found < 0) return false;  // a signal: the caller checks its flags
            if (!channel_.receive() || channel_.damaged()) {
                if (channel_.next(frame)) return true;
                over_ = true;
                return false;
            }
        }
        return true;
    }

    std::optional<torus_run::Sample> take(const Frame& frame) {
        const auto kind = MonitorFrame(frame.header.kind);
        if (kind == MonitorFrame::refused)
            throw std::runtime_error(fmt::format(
                "{}: {}", name_,
                base::printable(
                    {reinterpret_cast<const char*>(frame.body.data()), frame.body.size()}, 1000)));
        if (kind == MonitorFrame::job) job_ = torus_run::decode_job(frame.body);
        if (kind == MonitorFrame::over) {
            over_ = true;
            exit_code_ = torus_run::Unpacker(frame.body).get<std::int32_t>();
        }
        if (kind != MonitorFrame::sample) return std::nullopt;
        return torus_run::decode_sample(frame.body);
    }

    torus_run::Channel channel_;
    const std::string name_;
    std::optional<torus_run::JobDescription> job_;
    bool over_ = false;
    std::optional<int> exit_code_;
};

// A recording: this text, followed by frames as a job sends them.
constexpr std::string_view record_magic = "torusmp record 1\n";

class Replay final : public Feed {
  public:
    Replay(const std::string& file, double speed) : name_(file), speed_(speed) {
        std::ifstream in(file, std::ios::binary);
        if (!in) damaged(std::strerror(errno));
        const std::string text{std::istreambuf_iterator<char>(in), {}};
        if (!std::string_view(text).starts_with("torusmp record "))
            damaged("expected a file that torus-top --record has written");
        if (!std::string_view(text).starts_with(record_magic))
            damaged(
                "it was recorded by another version of torus-top; use that version to replay "
                "it");
        rest_ = text.substr(record_magic.size());
        try {
            const auto [kind, body] = frame();
            if (kind != MonitorFrame::job) damaged("it does not begin with its job");
            job_ = torus_run::decode_job(body);
        } catch (const torus_run::PackingError&) {
            damaged("its job is damaged");
        }
    }

    const torus_run::JobDescription& job() const override { return job_; }
    bool over() const override { return at_ == rest_.size(); }
    std::optional<torus_run::Sample> next(milliseconds timeout) override {
        if (over()) return std::nullopt;
        const std::size_t before = at_;
        torus_run::Sample sample;
        try {
            const auto [kind, body] = frame();
            if (kind != MonitorFrame::sample) damaged("expected a sample");
            sample = torus_run::decode_sample(body);
        } catch (const torus_run::PackingError&) {
            damaged(fmt::format("a sample is damaged, at byte {}", before));
        }
        if (speed_ > 0 && last_ != 0) {
            const auto due = began_ + std::chrono::nanoseconds(
                                          std::int64_t(double(sample.now - first_) / speed_));
            const auto left = due - Clock::now();
            if (left > timeout) {
                std::this_thread::sleep_for(timeout);
                at_ = before;
                return std::nullopt;
            }
            std::this_thread::sleep_for(left);
        } else if (last_ == 0) {
            first_ = sample.now;
            began_ = Clock::now();
        }
        last_ = sample.now;
        return sample;
    }

  private:
    [[noreturn]] void damaged(const std::string& why) const {
        throw std::runtime_error(fmt::format("{}: {}", name_, why));
    }

    std::pair<MonitorFrame, std::span<const std::byte>> frame() {
        FrameHeader header;
        if (rest_.size() - at_ < sizeof header) damaged("it ends in the middle of a sample");
        std::memcpy(&header, rest_.data() + at_, sizeof header);
        at_ += sizeof header;
        if (header.length > rest_.size() - at_) damaged("it ends in the middle of a sample");
        const auto body = std::as_bytes(std::span(rest_)).subspan(at_, std::size_t(header.length));
        at_ += std::size_t(header.length);
        return {MonitorFrame(header.kind), body};
    }

    const std::string name_;
    const double speed_;
    std::string rest_;
    std::size_t at_ = 0;
    torus_run::JobDescription job_;
    std::int64_t first_ = 0, last_ = 0;
    Clock::time_point began_;
};

}  // namespace

std::unique_ptr<Feed> watch_job(pid_t job, milliseconds interval) {
    return std::make_unique<LiveFeed>(job, interval);
}

std::unique_ptr<Feed> replay(const std::string& file, double speed) {
    return std::make_unique<Replay>(file, speed);
}

pid_t only_job() {
    const auto jobs = torus_run::running_jobs(torus_run::runtime_folder());
    if (jobs.empty())
        throw std::runtime_error(
            "no job of this user runs on this host; torus-top watches jobs that torus-run has "
            "started here");
    if (jobs.size() > 1)
        throw std::runtime_error(
            fmt::format("several jobs are running: choose one as JOB\n{}", list_jobs()));
    return jobs.front();
}

std::string list_jobs() {
    std::string text;
    for (const pid_t job : torus_run::running_jobs(torus_run::runtime_folder())) {
        try {
            const auto feed = watch_job(job, milliseconds(torus_run::longest_interval));
            const torus_run::JobDescription& it = feed->job();
            text += fmt::format("{:>8}  {:>11}  {:>9}  since {:%Y-%m-%d %H:%M:%S}  {}\n", it.pid,
                                config::plural(it.size, "rank"),
                                config::plural(std::int64_t(it.hosts.size()), "host"),
                                fmt::localtime(std::time_t(it.started)),
                                base::printable(it.program, 80));
        } catch (const std::exception& error) {
            text += fmt::format("{:>8}  {}\n", job, error.what());
        }
    }
    return text;
}

Recorder::Recorder(const std::string& file, const torus_run::JobDescription& job)
    : name_(file), file_(std::fopen(file.c_str(), "wb")) {
    if (!file_) throw std::runtime_error(fmt::format("{}: {}", file, std::strerror(errno)));
    std::fwrite(record_magic.data(), 1, record_magic.size(), file_.get());
    write(MonitorFrame::job, torus_run::encode(job));
}

void Recorder::add(const torus_run::Sample& sample) {
    write(MonitorFrame::sample, torus_run::encode(sample));
}

void Recorder::write(MonitorFrame kind, const std::vector<std::byte>& bytes) {
    const FrameHeader header{std::uint32_t(kind), torus_run::monitor_protocol, bytes.size()};
    if (std::fwrite(&header, sizeof header, 1, file_.get()) != 1 ||
        std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size() ||
        std::fflush(file_.get()) != 0)
        throw std::runtime_error(fmt::format("{}: {}", name_, std::strerror(errno)));
}

}  // namespace torusmp::torus_top
