#include "launch/torus_run/output.h"

#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace torusmp::launch {

void Sink::add(std::string_view text) {
    if (!broken_) pending_ += text;
}

// A pipe or terminal that polls writable takes PIPE_BUF bytes without blocking.
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
            broken_ = true;
        }
    }
    if (broken_)
        pending_.clear();
    else
        pending_.erase(0, done);
    return !broken_;
}

bool same_file(int a, int b) {
    struct stat first {
    }, second{};
    return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

Tagger::Tagger(int rank) : tag_(fmt::format("[{}] ", rank)) {}

void Tagger::take(std::string_view bytes, Sink& sink) {
    while (!bytes.empty()) {
        const std::size_t newline = bytes.find('\n');
        const std::size_t room = longest_line - line_.size();
        const std::size_t piece = std::min({bytes.size(), newline, room});
        line_ += bytes.substr(0, piece);
        bytes.remove_prefix(piece);
        const bool line_ends = !bytes.empty() && bytes.front() == '\n';
        if (line_ends) bytes.remove_prefix(1);
        if (!line_ends && line_.size() < longest_line) return;
        sink.add(fmt::format("{}{}\n", tag_, line_));
        line_.clear();
    }
}

void Tagger::finish(Sink& sink) {
    if (line_.empty()) return;
    sink.add(fmt::format("{}{}\n", tag_, line_));
    line_.clear();
}

// ---- both streams of torus-run ----

Outputs::Outputs(Loop& loop, int ranks, bool tag, Flow& flow)
    : loop_(loop),
      flow_(flow),
      own_output_(STDOUT_FILENO),
      errors_(STDERR_FILENO),
      output_(same_file(STDOUT_FILENO, STDERR_FILENO) ? &errors_ : &own_output_),
      taggers_(tag ? std::size_t(ranks) * 2 : 0),
      tag_(tag) {}

Outputs::~Outputs() {
    for (const Sink* sink : {&own_output_, &errors_}) loop_.forget(sink->fd());
}

void Outputs::say(std::string_view text) {
    errors_.add(text);
    pump_one(errors_);
}

void Outputs::take(int rank, int stream, std::string_view text) {
    if (!tag_) {
        sink(stream).add(text);
    } else {
        auto& tagger = taggers_[std::size_t(rank) * 2 + std::size_t(stream)];
        if (!tagger) tagger.emplace(rank);
        if (text.empty())
            tagger->finish(sink(stream));
        else
            tagger->take(text, sink(stream));
    }
    pump_one(sink(stream));
}

void Outputs::pump() {
    pump_one(own_output_);
    pump_one(errors_);
}

void Outputs::pump_one(Sink& changed) {
    const bool readable = changed.pump();
    if (readable && !changed.empty())
        loop_.watch(changed.fd(), EPOLLOUT | EPOLLONESHOT, [](auto) {});  // pump() follows
    for (int stream = 0; stream < 2; ++stream) {
        if (&sink(stream) != &changed) continue;
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

}  // namespace torusmp::launch
