#include "launch/torus_run/output.h"

#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
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

}  // namespace torusmp::launch
