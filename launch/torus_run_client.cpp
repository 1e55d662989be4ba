// SPDX-License-Identifier: BSD-3-Clause
// The rank's end of the socket inherited from torus-run.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/descriptor.h"
#include "base/process_state.h"
#include "launch/implementations.h"
#include "launch/link_news.h"

namespace torusmp::launch {
namespace {

// Whether a process is this one's parent, or the parent of that, and so on.
bool descends_from(pid_t ancestor) {
    pid_t pid = getpid();
    while (pid > 1 && pid != ancestor) pid = base::process_state(pid).parent;
    return pid == ancestor;
}

class TorusRunBootstrap final : public Bootstrap {
  public:
    TorusRunBootstrap(base::Descriptor socket, base::Descriptor notices)
        : socket_(std::move(socket)), notices_(std::move(notices)) {
        // Sent first: the greeting reveals a second process on this socket.
        const Hello hello{protocol_version, 0};
        send(FrameKind::hello, 0, std::as_bytes(std::span(&hello, 1)));
        receive_welcome();
    }

    std::string_view name() const override { return "torus-run"; }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    const std::vector<int>& local_ranks() const override { return local_; }
    std::span<const std::byte> secret() const override { return secret_; }

    std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) override {
        if (mine.size() > max_frame_bytes)
            throw BootstrapError(fmt::format("exchange: found {} bytes, expected at most {}",
                                             mine.size(), max_frame_bytes));
        send(FrameKind::exchange, sequence_, mine);
        const std::uint64_t length = expect(FrameKind::everyone, sequence_++, "exchange");
        return receive_everyone(length);
    }

    void barrier() override {
        send(FrameKind::barrier, sequence_, {});
        if (expect(FrameKind::released, sequence_++, "barrier") != 0) damaged("barrier");
    }

    std::vector<Death> deaths() override {
        ask_for_deaths();
        const std::lock_guard lock(noticing_);
        std::byte piece[4096];
        ssize_t n = 0;
        while (notices_ && (n = recv(notices_.get(), piece, sizeof piece, MSG_DONTWAIT)) > 0)
            noticed_.insert(noticed_.end(), piece, piece + n);
        std::vector<Death> all;
        while (take_notice(all)) continue;
        reported_.insert(reported_.end(), all.begin(), all.end());
        return std::exchange(report_again_, false) ? reported_ : all;
    }
    int deaths_descriptor() override {
        ask_for_deaths();
        return notices_.get();
    }
    bool keeps_going() const override { return keeps_going_; }

    const std::vector<routing::Link>& dead_cables() const override { return dead_cables_; }
    void report_link(const routing::LinkNews& news) override {
        try {
            send(FrameKind::link, 0, encode(news));
        } catch (const BootstrapError&) {
            // Ignored: torus-run is gone, and this rank ends soon.
        }
    }

    bool report_waits(std::span<const std::byte> waits, bool overdue) override {
        try {
            if (waits.size() <= max_frame_bytes) send(FrameKind::waits, overdue ? 1 : 0, waits);
        } catch (const BootstrapError&) {
            // Ignored: torus-run is gone, and this rank ends soon.
        }
        return true;
    }

    void note(std::string_view text) override {
        constexpr std::size_t longest = 4096;
        try {
            send(FrameKind::note, 0, std::as_bytes(std::span(text.substr(0, longest))));
        } catch (const BootstrapError&) {
            Bootstrap::note(text);
        }
    }

    void share_page(int descriptor) override {
        const std::int32_t number = descriptor;
        send(FrameKind::page, 0, std::as_bytes(std::span(&number, 1)));
    }

    // torus-run stops this process too. If it cannot, the rank still ends.
    [[noreturn]] void abort(int code, std::string_view message) override {
        std::fflush(nullptr);
        message = message.substr(0, 65536);
        std::vector<std::byte> body(sizeof(std::int32_t) + message.size());
        const std::int32_t wire_code = code;
        std::memcpy(body.data(), &wire_code, sizeof wire_code);
        const auto text = std::as_bytes(std::span(message));
        std::copy(text.begin(), text.end(), body.begin() + sizeof wire_code);
        bool delivered = true;
        try {
            send(FrameKind::abort, 0, body);
        } catch (const BootstrapError&) {
            delivered = false;
            fmt::print(stderr, "{} aborted with code {}: {}\n", describe_self(rank_), code,
                       message);
        }
        if (delivered) wait_for_the_end();
        _exit((code & 0xff) != 0 ? code : 1);
    }

    void finalize() override {
        if (finalized_) return;
        finalized_ = true;
        send(FrameKind::finalize, 0, {});
    }

    void join_again() override {
        finalized_ = false;
        report_again_ = true;
        send(FrameKind::again, 0, {});
    }

    // torus-run inherits the child only if this process is one of its descendants.
    bool adopt(pid_t child, bool deaths_allowed) override {
        const char* const launcher = std::getenv(env_launcher);
        if (launcher == nullptr || !descends_from(pid_t(std::atol(launcher)))) return false;
        const std::int32_t pid = child;
        send(FrameKind::child, deaths_allowed ? 1 : 0, std::as_bytes(std::span(&pid, 1)));
        return true;
    }

  private:
    void receive_welcome() {
        const std::uint64_t length = expect(FrameKind::welcome, 0, "start");
        Welcome welcome;
        if (length < sizeof welcome) damaged("start");
        receive(&welcome, sizeof welcome, "start");
        if (welcome.version != protocol_version)
            throw BootstrapError(
                fmt::format("torus-run uses version {} of the start-up protocol, this program "
                            "version {}: use the torus-run of the torusmp installation that the "
                            "program was linked with",
                            welcome.version, protocol_version));
        if (welcome.rank < 0 || welcome.rank >= welcome.size || welcome.keep_going > 1 ||
            length != sizeof welcome + std::uint64_t(welcome.local_count) * sizeof(std::int32_t) +
                          std::uint64_t(welcome.dead_count) * sizeof(DeadCable))
            damaged("start");
        rank_ = welcome.rank;
        size_ = welcome.size;
        keeps_going_ = welcome.keep_going == 1;
        sequence_ = welcome.sequence;
        std::copy(std::begin(welcome.secret), std::end(welcome.secret), secret_.begin());
        static_assert(sizeof(int) == sizeof(std::int32_t));
        local_.resize(welcome.local_count);
        receive(local_.data(), local_.size() * sizeof(std::int32_t), "start");
        std::vector<DeadCable> dead(welcome.dead_count);
        receive(dead.data(), dead.size() * sizeof(DeadCable), "start");
        for (const DeadCable& cable : dead) dead_cables_.push_back({cable.node, cable.dimension});
    }

    std::vector<std::vector<std::byte>> receive_everyone(std::uint64_t length) {
        std::vector<std::uint64_t> lengths(std::size_t(size_), 0);
        const std::uint64_t table = lengths.size() * sizeof(std::uint64_t);
        if (length < table) damaged("exchange");
        receive(lengths.data(), table, "exchange");
        std::uint64_t left = length - table;
        std::vector<std::vector<std::byte>> everyone(lengths.size());
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            if (lengths[i] > left) damaged("exchange");
            left -= lengths[i];
            everyone[i].resize(lengths[i]);
            receive(everyone[i].data(), lengths[i], "exchange");
        }
        if (left != 0) damaged("exchange");
        return everyone;
    }

    // The first call announces to torus-run that this rank reports deaths itself.
    void ask_for_deaths() {
        if (!asked_.exchange(true)) send(FrameKind::watch, 0, {});
    }

    // One whole frame of notices. Precondition: noticing_ is held.
    bool take_notice(std::vector<Death>& all) {
        FrameHeader header;
        if (noticed_.size() < sizeof header) return false;
        std::memcpy(&header, noticed_.data(), sizeof header);
        if (header.kind != std::uint32_t(FrameKind::deaths) || header.length > max_frame_bytes)
            damaged("a notice");
        if (noticed_.size() - sizeof header < header.length) return false;
        const std::byte* at = noticed_.data() + sizeof header;
        std::uint64_t left = header.length;
        while (left > 0) all.push_back(take_death(at, left));
        noticed_.erase(noticed_.begin(),
                       noticed_.begin() + std::ptrdiff_t(sizeof header + header.length));
        return true;
    }

    Death take_death(const std::byte*& at, std::uint64_t& left) const {
        DeathRecord record;
        if (left < sizeof record) damaged("a notice");
        std::memcpy(&record, at, sizeof record);
        const std::uint64_t text = std::uint64_t(record.host_length) + record.cause_length;
        if (left - sizeof record < text || record.rank < 0 || record.rank >= size_)
            damaged("a notice");
        const char* words = reinterpret_cast<const char*>(at + sizeof record);
        at += sizeof record + text;
        left -= sizeof record + text;
        return {record.rank,
                {words, record.host_length},
                {words + record.host_length, record.cause_length}};
    }

    std::uint64_t expect(FrameKind kind, std::uint32_t sequence, const char* call) {
        FrameHeader header;
        receive(&header, sizeof header, call);
        if (header.kind == std::uint32_t(FrameKind::over)) job_is_over(header.length, call);
        if (header.kind != std::uint32_t(kind) || header.sequence != sequence) damaged(call);
        return header.length;
    }

    // Whole frames only: abort() may be called by another thread than the waiting one.
    void send(FrameKind kind, std::uint32_t sequence, std::span<const std::byte> body) {
        const std::lock_guard lock(sending_);
        FrameHeader header{std::uint32_t(kind), sequence, body.size()};
        iovec parts[2] = {{&header, sizeof header},
                          {const_cast<std::byte*>(body.data()), body.size()}};
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = 2;
        while (parts[0].iov_len + parts[1].iov_len > 0) {
            ssize_t n = sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) gone(std::strerror(errno));
            for (iovec& part : parts) {
                const std::size_t step = std::min(std::size_t(n), part.iov_len);
                part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
                part.iov_len -= step;
                n -= ssize_t(step);
            }
        }
    }

    void receive(void* to, std::size_t bytes, const char* call) {
        auto* at = static_cast<std::byte*>(to);
        while (bytes > 0) {
            const ssize_t n = recv(socket_.get(), at, bytes, MSG_WAITALL);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) gone(n == 0 ? call : std::strerror(errno));
            at += n;
            bytes -= std::size_t(n);
        }
    }

    [[noreturn]] void job_is_over(std::uint64_t length, const char* call) {
        if (length > max_frame_bytes) damaged(call);
        std::string why(length, '\0');
        receive(why.data(), length, call);
        // torus-run has reported the cause and ends this process too: an echo from each rank is
        // useless.
        wait_for_the_end();
        throw BootstrapError(
            fmt::format("{} cannot complete {}(): {}", describe_self(rank_), call, why));
    }

    void wait_for_the_end() const {
        using Clock = std::chrono::steady_clock;
        const auto deadline = Clock::now() + std::chrono::seconds(10);
        pollfd end{socket_.get(), POLLRDHUP, 0};
        while (Clock::now() < deadline && poll(&end, 1, 100) <= 0) continue;
    }

    [[noreturn]] void gone(std::string_view why) const {
        throw BootstrapError(
            fmt::format("{} lost torus-run, which started it: {}", describe_self(rank_), why));
    }
    [[noreturn]] void damaged(std::string_view call) const {
        throw BootstrapError(
            fmt::format("{} received a frame from torus-run that does not belong to {}: use the "
                        "torus-run of the torusmp installation that the program was linked with",
                        describe_self(rank_), call));
    }

    base::Descriptor socket_, notices_;
    std::mutex sending_, noticing_;
    std::vector<std::byte> noticed_;
    std::vector<Death> reported_;  // by deaths()
    bool report_again_ = false;    // all of them: this rank has joined its job again
    std::atomic<bool> asked_{false};
    bool keeps_going_ = false;
    int rank_ = 0;
    int size_ = 1;
    std::vector<int> local_;
    std::vector<routing::Link> dead_cables_;
    Secret secret_{};
    std::uint32_t sequence_ = 0;
    bool finalized_ = false;
};

struct Handed {
    int socket = -1;
    unsigned long long inode = 0;
    int notices = -1;
    unsigned long long notices_inode = 0;
    int lifeline = -1;
};

Handed parse_handed(const char* text) {
    Handed handed;
    int used = 0;
    if (std::sscanf(text, "%d:%llu:%d:%llu:%d%n", &handed.socket, &handed.inode, &handed.notices,
                    &handed.notices_inode, &handed.lifeline, &used) != 5 ||
        text[used] != '\0')
        throw BootstrapError(
            fmt::format("{}=\"{}\" is damaged: expected socket:inode:notices:inode:lifeline as "
                        "torus-run writes "
                        "it",
                        env_bootstrap, text));
    return handed;
}

// A wrapper may have closed the descriptor, and its number may have been reused.
void check_socket(int socket, unsigned long long inode) {
    struct stat info {};
    if (fstat(socket, &info) == 0 && S_ISSOCK(info.st_mode) && info.st_ino == inode) return;
    throw BootstrapError(fmt::format(
        "descriptor {}, named by {}, is no longer torus-run's socket: a program between torus-run "
        "and this process closed it; that program must keep inherited descriptors open (Python: "
        "close_fds=False)",
        socket, env_bootstrap));
}

// torus-run's daemon ends this rank's process group when it dies. A wrapper may have moved the rank
// into another group or session, so the rank also asks the kernel to end it: SIGKILL when the last
// writer of the lifeline pipe is gone. A fresh open file description is needed, because the owner
// belongs to it.
void arm_lifeline(int lifeline) {
    struct stat info {};
    if (fstat(lifeline, &info) != 0 || !S_ISFIFO(info.st_mode)) return;
    const int mine =
        open(fmt::format("/proc/self/fd/{}", lifeline).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (mine < 0) return;
    fcntl(mine, F_SETSIG, SIGKILL);
    fcntl(mine, F_SETOWN, getpid());
    fcntl(mine, F_SETFL, O_NONBLOCK | O_ASYNC);
    // If it is already closed, no process is left to send the signal.
    pollfd end{mine, POLLIN, 0};
    if (poll(&end, 1, 0) > 0 && (end.revents & POLLHUP) != 0) raise(SIGKILL);
}

// When a process is killed, the kernel closes its descriptors from the highest number down, and
// packet sockets take long: torus-run learns of the death by this descriptor.
base::Descriptor closed_first(base::Descriptor descriptor) {
    constexpr int high = 512;  // below the usual limit of 1024 and FD_SETSIZE
    base::Descriptor moved(fcntl(descriptor.get(), F_DUPFD_CLOEXEC, high));
    return moved ? std::move(moved) : std::move(descriptor);
}

}  // namespace

std::unique_ptr<Bootstrap> connect_torus_run() {
    const Handed handed = parse_handed(std::getenv(env_bootstrap));
    check_socket(handed.socket, handed.inode);
    check_socket(handed.notices, handed.notices_inode);
    for (const int socket : {handed.socket, handed.notices}) fcntl(socket, F_SETFD, FD_CLOEXEC);
    arm_lifeline(handed.lifeline);
    auto bootstrap = std::make_unique<TorusRunBootstrap>(
        base::Descriptor(handed.socket), closed_first(base::Descriptor(handed.notices)));
    unsetenv(env_bootstrap);
    setenv(env_connected, fmt::format("{}", getpid()).c_str(), 1);
    return bootstrap;
}

std::unique_ptr<Bootstrap> connect_passed(base::Descriptor socket, base::Descriptor notices) {
    return std::make_unique<TorusRunBootstrap>(std::move(socket), std::move(notices));
}

}  // namespace torusmp::launch
