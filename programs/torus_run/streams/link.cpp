// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "config/raw.h"
#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/streams/text.h"

namespace torusmp::torus_run {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr std::string_view greeting_start{"\0torus-daemon ", 14};
// Bytes that a login script or a banner may print before the greeting.
constexpr std::size_t longest_noise = 65536;
constexpr std::size_t longest_greeting = 256;
// Time limit from the end of the agent's standard output to the end of the agent.
constexpr nanoseconds end_timeout = seconds(2);
constexpr std::size_t longest_last_output = 2000;

std::string version_words() {
    return fmt::format("{} (protocol {}.{}, {}-endian, {}-bit)", TORUSMP_VERSION, daemon_protocol,
                       launch::protocol_version,
                       std::endian::native == std::endian::little ? "little" : "big",
                       8 * sizeof(void*));
}

std::string_view text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string base_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string greeting() {
    return std::string(greeting_start) + version_words() + "\n";
}

Link::Link(int node, const std::string& host, const std::vector<std::string>& command, Loop& loop,
           nanoseconds timeout, Listener& listener)
    : node_(node),
      host_(host),
      agent_name_(base_name(command.front())),
      loop_(loop),
      timeout_(timeout),
      listener_(listener),
      agent_(command),
      channel_(std::move(agent_.output()), std::move(agent_.input())),
      last_heard_(Clock::now()) {
    loop_.watch(channel_.fd(), EPOLLIN, [this](auto) { hear(); });
    loop_.watch(agent_.errors().get(), EPOLLIN, [this](auto) { hear_errors(); });
    watch_output();
}

Link::~Link() {
    if (channel_.open()) {
        loop_.forget(channel_.fd());
        loop_.forget(channel_.output_fd());
    }
    if (agent_.errors()) loop_.forget(agent_.errors().get());
}

// Watches only while unsent data is queued. The loss of a reader also shows on the other pipe.
void Link::watch_output() {
    loop_.watch(channel_.output_fd(), EPOLLONESHOT, [this](auto) {
        channel_.flush();
        loop_.change(channel_.output_fd(),
                     channel_.has_unsent() ? std::uint32_t(EPOLLOUT) : std::uint32_t(EPOLLONESHOT));
    });
}

void Link::send(DaemonFrame kind, std::uint32_t node, SharedBytes bytes) {
    if (state_ == State::lost || !channel_.open()) return;
    told_to_finish_ = told_to_finish_ || kind == DaemonFrame::finish;
    channel_.send({std::uint32_t(kind), node, 0}, std::move(bytes));
    if (channel_.has_unsent()) loop_.change(channel_.output_fd(), EPOLLOUT);
}

// ---- frames from the daemon ----

void Link::hear() {
    if (!channel_.open()) return;
    const bool more = channel_.receive();
    if (state_ == State::greeting && !take_greeting() && more) return;
    if (state_ == State::lost) return;
    Frame frame;
    while (state_ != State::greeting && state_ != State::lost && channel_.next(frame)) {
        last_heard_ = Clock::now();
        if (DaemonFrame(frame.header.kind) == DaemonFrame::done &&
            frame.header.sequence == std::uint32_t(node_) && told_to_finish_)
            state_ = State::done;
        if (DaemonFrame(frame.header.kind) == DaemonFrame::leaving)
            leaving_ = true;
        else
            listener_.frame(*this, frame);
    }
    if (state_ == State::lost) return;
    if (channel_.damaged())
        return lose(
            "sent data that is not from this version of torus-run; does another program write to "
            "its standard output?");
    if (more) return;
    loop_.forget(channel_.fd());
    ended_at_ = Clock::now();  // the agent's exit status shows the cause
}

// Returns false if the greeting is incomplete or wrong.
bool Link::take_greeting() {
    std::vector<std::byte>& raw = channel_.raw();
    const std::string_view text = text_of(raw);
    const std::size_t start = text.find(greeting_start);
    const std::size_t end = start == text.npos ? text.npos : text.find('\n', start);
    if (end == text.npos) {
        const std::size_t noise = std::min(text.size(), start);
        if (noise > longest_noise || text.size() - noise > longest_greeting)
            lose(fmt::format("sent a reply that is not from torus-run: \"{}\"",
                             base::printable(text.substr(0, 200), 200)));
        return false;
    }
    const std::string version(
        text.substr(start + greeting_start.size(), end - start - greeting_start.size()));
    if (version != version_words()) {
        lose(fmt::format("runs torus-run {}, expected the version of this host, {}",
                         base::printable(version, 80), version_words()));
        return false;
    }
    raw.erase(raw.begin(), raw.begin() + std::ptrdiff_t(end + 1));
    state_ = State::open;
    greeted_ = true;
    last_heard_ = Clock::now();
    listener_.greeted(*this);
    return state_ == State::open;
}

void Link::hear_errors() {
    char piece[4096];
    while (agent_.errors()) {
        const ssize_t n = read(agent_.errors().get(), piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            loop_.forget(agent_.errors().get());
            agent_.errors().reset();
            return;
        }
        errors_.append(piece, std::size_t(n));
        if (errors_.size() > longest_last_output)
            errors_.erase(0, errors_.size() - longest_last_output);
        listener_.agent_output(*this, std::string(piece, std::size_t(n)));
    }
}

// ---- its end ----

bool Link::reaped(pid_t pid, int status) {
    if (pid != agent_.pid() || agent_ended_) return false;
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) return true;  // detected by its silence
    agent_ended_ = true;
    agent_.reaped(status);
    hear();  // read what it sent before it ended
    hear_errors();
    agent_is_gone(status);
    return true;
}

void Link::agent_is_gone(int status) {
    if (state_ == State::lost || state_ == State::done) return;
    const bool before = state_ == State::greeting;
    std::string why = fmt::format("{}: its agent '{}' {}{}", before ? "cannot be used" : "is lost",
                                  agent_name_, describe_end(status), last_output());
    // Exit codes of shells for a command that does not exist or cannot be executed.
    if (before && WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126))
        why += "; is torus-run installed there? If so, give its path with --torus-run PATH";
    lose(why);
}

std::string Link::last_output() const {
    std::string text = errors_;
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (text.empty()) return {};
    std::string line;
    for (const char c : text)
        if (c == '\n')
            line += " | ";
        else if (c != '\r')
            line += c;
    return fmt::format("; its last output: {}", base::printable(line, longest_last_output));
}

void Link::lose(const std::string& why) {
    if (state_ == State::lost) return;
    fell_silent_ = leaving_ || (greeted_ && Clock::now() - last_heard_ > Pulse::silence(timeout_));
    state_ = State::lost;
    if (channel_.open()) {
        loop_.forget(channel_.fd());
        loop_.forget(channel_.output_fd());
        channel_.close();  // a live daemon notices this and ends what it started
    }
    listener_.lost(*this, why);
}

void Link::tick(Clock::time_point now, nanoseconds asleep) {
    if (state_ == State::lost) return;
    last_heard_ += std::chrono::duration_cast<Clock::duration>(asleep);
    if (ended_at_ && state_ != State::done && now - *ended_at_ > end_timeout)
        return lose(fmt::format("is lost: the connection to its daemon closed{}", last_output()));
    const nanoseconds silence = now - last_heard_;
    if (state_ == State::greeting) {
        const nanoseconds timeout = Pulse::login_timeout(timeout_);
        if (silence > timeout)
            lose(fmt::format("cannot be reached: no answer over the agent '{}' within {}{}",
                             agent_name_, base::format_time(timeout), last_output()));
    } else if (state_ == State::open && silence > timeout_) {
        lose(
            fmt::format("is lost: its daemon was silent for longer than "
                        "transport.timeout = {}{}",
                        base::format_time(timeout_), last_output()));
    }
}

}  // namespace torusmp::torus_run
