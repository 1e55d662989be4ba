// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

namespace torusmp::torus_run {

void Sink::add(std::string_view text) {
    if (!broken_) pending_ += text;
}

// A pipe or terminal that polls writable accepts PIPE_BUF bytes without blocking.
bool Sink::pump() {
    std::size_t done = 0;
    while (!broken_ && done < pending_.size()) {
        pollfd ready{fd_, POLLOUT, 0};
        if (poll(&ready, 1, 0) <= 0) break;
        const std::size_t piece = std::min(pending_.size() - done, std::size_t(PIPE_BUF));
        const ssize_t n = write(fd_, pending_.data() + done, piece);
        if (n > 0) {
            done += std::size_t(n);
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            fail(errno);
            done = 0;
        }
    }
    pending_.erase(0, done);
    return !broken_;
}

// A terminal that was hung up returns EIO.
void Sink::fail(int error) {
    broken_ = error == EPIPE || error == ECONNRESET || (error == EIO && isatty(fd_) != 0);
    if (!broken_) error_ = error;
    pending_.clear();
}

bool same_file(int a, int b) {
    struct stat first {
    }, second{};
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

// ---- lines ----

namespace {

// Maximum memory for the unfinished line of one rank.
constexpr std::size_t longest_tagged_line = std::size_t(1) << 20;
constexpr std::size_t longest_line = std::size_t(1) << 16;
// C and C++ write to pipes in blocks of this size if the program does not flush.
constexpr std::size_t buffer_of_programs = 4096;
// Delay before an unfinished line that was flushed, such as a prompt, is printed.
constexpr std::chrono::milliseconds delay_if_flushed{100};
constexpr std::chrono::milliseconds delay_if_cut{20000};

}  // namespace

Lines::Lines(int rank, bool tagged)
    : tagged_(tagged), tag_(tagged ? fmt::format("[{}] ", rank) : "") {}

void Lines::take(std::string_view bytes, Sink& sink) {
    if (tagged_) return take_tagged(bytes, sink);
    whole_buffers_ = bytes.size() % buffer_of_programs == 0;
    const std::size_t end = bytes.rfind('\n');
    if (end != bytes.npos) {
        sink.add(line_);
        sink.add(bytes.substr(0, end + 1));
        line_.clear();
        bytes.remove_prefix(end + 1);
    }
    if (line_.empty()) begun_ = Clock::now();
    line_ += bytes;
    if (line_.size() >= longest_line) finish(sink);
}

void Lines::take_tagged(std::string_view bytes, Sink& sink) {
    while (!bytes.empty()) {
        const std::size_t newline = bytes.find('\n');
        const std::size_t room = longest_tagged_line - line_.size();
        const std::size_t piece = std::min({bytes.size(), newline, room});
        line_ += bytes.substr(0, piece);
        bytes.remove_prefix(piece);
        const bool line_ends = !bytes.empty() && bytes.front() == '\n';
        if (line_ends) bytes.remove_prefix(1);
        if (!line_ends && line_.size() < longest_tagged_line) return;
        sink.add(fmt::format("{}{}\n", tag_, line_));
        line_.clear();
    }
}

void Lines::finish(Sink& sink) {
    if (line_.empty()) return;
    sink.add(tagged_ ? fmt::format("{}{}\n", tag_, line_) : line_);
    line_.clear();
}

std::optional<Lines::Clock::time_point> Lines::write_time() const {
    if (tagged_ || line_.empty()) return std::nullopt;
    return begun_ + (whole_buffers_ ? delay_if_cut : delay_if_flushed);
}

// ---- both streams of torus-run ----

Outputs::Outputs(Loop& loop, int ranks, bool tag, FileOf file_of, bool append, Flow& flow)
    : loop_(loop),
      flow_(flow),
      own_output_(STDOUT_FILENO),
      errors_(STDERR_FILENO),
      output_(same_file(STDOUT_FILENO, STDERR_FILENO) ? &errors_ : &own_output_),
      lines_(tag || ranks > 1 ? std::size_t(ranks) * 2 : 0),
      tag_(tag),
      file_of_(std::move(file_of)),
      if_file_exists_(append ? O_APPEND : O_TRUNC),
      file_by_stream_(file_of_ ? std::size_t(ranks) * 2 : 0) {}

Outputs::~Outputs() {
    for (const Sink* sink : {&own_output_, &errors_}) loop_.forget(sink->fd());
}

void Outputs::print(std::string_view text) {
    errors_.add(text);
    pump_one(errors_);
}

void Outputs::take(int rank, int stream, std::string_view text) {
    Sink& to = sink_of(rank, stream);
    if (lines_.empty()) {
        to.add(text);
    } else {
        const std::size_t index = std::size_t(rank) * 2 + std::size_t(stream);
        auto& lines = lines_[index];
        if (!lines) lines.emplace(rank, tag_);
        if (text.empty())
            lines->finish(to);
        else
            lines->take(text, to);
        if (lines->write_time())
            unfinished_.insert(index);
        else
            unfinished_.erase(index);
    }
    pump_of(rank, stream);
}

void Outputs::pump() {
    flush_unfinished(false);
    pump_one(own_output_);
    pump_one(errors_);
}

std::optional<Lines::Clock::time_point> Outputs::next_tick() const {
    std::optional<Lines::Clock::time_point> next;
    for (const std::size_t index : unfinished_)
        if (const auto time = lines_[index]->write_time())
            next = next ? std::min(*next, *time) : time;
    return next;
}

void Outputs::finish_lines() {
    flush_unfinished(true);
}

void Outputs::flush_unfinished(bool all) {
    if (unfinished_.empty()) return;
    const auto now = Lines::Clock::now();
    for (auto it = unfinished_.begin(); it != unfinished_.end();) {
        Lines& lines = *lines_[*it];
        const auto time = lines.write_time();
        const bool over = all || !time || now >= *time;
        const int rank = int(*it / 2), stream = int(*it % 2);
        if (over) {
            lines.finish(sink_of(rank, stream));
            pump_of(rank, stream);
        }
        it = over ? unfinished_.erase(it) : std::next(it);
    }
}

Outputs::File* Outputs::file(int rank, int stream) {
    if (!file_of_) return nullptr;
    File*& known = file_by_stream_[std::size_t(rank) * 2 + std::size_t(stream)];
    if (known != nullptr) return known;
    const std::string path = file_of_(rank, stream);
    if (path.empty()) return nullptr;
    const auto [found, is_new] = files_.try_emplace(path);
    known = &found->second;
    if (!is_new) return known;
    std::error_code error;
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    known->descriptor = base::Descriptor(
        open(path.c_str(), O_WRONLY | O_CREAT | if_file_exists_ | O_CLOEXEC, 0666));
    if (!known->descriptor) {
        check(path, *known, errno);
        known->descriptor = base::Descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC));
    }
    known->sink.emplace(known->descriptor.get());
    return known;
}

void Outputs::check(const std::string& path, File& file, int error) {
    if (error == 0 || std::exchange(file.reported, true)) return;
    lost_ = true;
    print(
        fmt::format("torus-run: cannot write {}: {}; further output to it is lost, and the job "
                    "continues\n",
                    path, std::strerror(error)));
}

Sink& Outputs::sink_of(int rank, int stream) {
    if (File* to = file(rank, stream)) return *to->sink;
    printed_[stream] = true;
    return sink(stream);
}

void Outputs::pump_of(int rank, int stream) {
    File* to = file(rank, stream);
    if (to == nullptr) return pump_one(sink(stream));
    to->sink->pump();
    check(file_of_(rank, stream), *to, to->sink->error());
}

void Outputs::pump_one(Sink& changed) {
    const bool readable = changed.pump();
    if (readable && !changed.empty())
        loop_.watch(changed.fd(), EPOLLOUT | EPOLLONESHOT, [](auto) {});  // pump() follows
    for (int stream = 0; stream < 2; ++stream) {
        if (&sink(stream) != &changed) continue;
        if (changed.error() != 0 && printed_[stream] && !reported_[stream]) {
            reported_[stream] = lost_ = true;
            errors_.add(
                fmt::format("torus-run: cannot write {}: {}; further output of the ranks to it is "
                            "lost, and the job continues\n",
                            stream == 0 ? "standard output" : "standard error",
                            std::strerror(changed.error())));
            errors_.pump();
        }
        if (!readable && !gone_[stream]) {
            gone_[stream] = true;
            flow_.reader_gone(stream);
        }
        const bool full = changed.full();
        if (full == paused_[stream]) continue;
        paused_[stream] = full;
        flow_.pause(stream, full);
    }
}

bool Outputs::flush(int end) {
    for (Sink* waiting : {&own_output_, &errors_})
        while (waiting->pump() && !waiting->empty()) {
            pollfd wait[2] = {{waiting->fd(), POLLOUT, 0}, {end, POLLRDHUP, 0}};
            poll(wait, 2, -1);
            if (wait[1].revents & (POLLHUP | POLLRDHUP)) return false;
        }
    pump();
    return true;
}

}  // namespace torusmp::torus_run
