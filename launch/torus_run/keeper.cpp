#include "launch/torus_run/keeper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "config/binding.h"
#include "launch/implementations.h"
#include "launch/torus_run/channel.h"
#include "launch/torus_run/descendants.h"
#include "launch/torus_run/gathering.h"
#include "launch/torus_run/output.h"
#include "launch/torus_run/signals.h"
#include "launch/torus_run/spawn.h"
#include "launch/torus_run/text.h"

namespace torusmp::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// From SIGTERM to SIGKILL once a rank has failed: the job must be gone within two seconds.
constexpr milliseconds grace{700};
// For processes that the kernel does not let go of.
constexpr milliseconds kill_patience{5000};

enum class Source : std::uint32_t { front, signals, control, connected, output, errors, sink };

struct Stream {
    Descriptor pipe;
    std::optional<Tagger> tagger;
    Sink* sink = nullptr;
};

struct Rank {
    const RankPlan* plan = nullptr;
    pid_t pid = -1;  // the process that we started
    bool running = false;
    std::optional<Channel> channel;
    bool connected = false;
    bool finalized = false;
    pid_t connected_pid = -1;  // the process that called connect: a child of `pid` under a wrapper
    Descriptor connected_process;
    Stream output, errors;
};

class Keeper {
  public:
    Keeper(const Job& job, KeeperContext context)
        : job_(job),
          context_(std::move(context)),
          size_(int(job.ranks.size())),
          secret_(random_secret()),
          ranks_(job.ranks.size()),
          gathering_(size_),
          own_output_(STDOUT_FILENO),
          errors_(STDERR_FILENO),
          output_(same_file(STDOUT_FILENO, STDERR_FILENO) ? &errors_ : &own_output_) {}

    int run() {
        started_ = Clock::now();
        open_files();
        if (start_all()) {
            if (job_.timeout.count() > 0) timeout_ = started_ + job_.timeout;
            while (running_ > 0 && !kill_now_) step();
        }
        end_everything();
        return exit_code_;
    }

  private:
    // ---- start ----

    void open_files() {
        epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
        sigset_t listened = forwarded_signals();
        sigaddset(&listened, SIGCHLD);
        signals_ = Descriptor(signalfd(-1, &listened, SFD_CLOEXEC | SFD_NONBLOCK));
        null_ = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
        watch(context_.front.get(), EPOLLIN, Source::front, 0);
        watch(signals_.get(), EPOLLIN, Source::signals, 0);
        // Three descriptors a rank, and as many for a moment.
        rlimit files = context_.files;
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }

    bool start_all() {
        std::vector<std::string> environment = job_.environment;
        std::vector<std::string> arguments = job_.arguments;
        for (int rank = 0; rank < size_; ++rank)
            if (!start(rank, arguments, environment)) return false;
        // From here only the ranks hold what they read from.
        dup2(null_.get(), STDIN_FILENO);
        return true;
    }

    // The variables of one rank go behind those that all share.
    bool start(int index, std::vector<std::string>& arguments,
               std::vector<std::string>& environment) {
        Rank& rank = ranks_[std::size_t(index)];
        rank.plan = &job_.ranks[std::size_t(index)];
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
            return cannot_start(index, "socketpair", errno);
        Descriptor theirs(pair[1]);
        rank.channel.emplace(Descriptor(pair[0]));
        const std::string reopen = fmt::format("/proc/self/fd/{}", context_.lifeline_read.get());
        const Descriptor lifeline(open(reopen.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        if (!lifeline) return cannot_start(index, "open of the lifeline", errno);
        Descriptor output_end, errors_end;
        if (job_.tag_output) {
            output_end = open_stream(index, rank.output, output_, Source::output);
            errors_end = open_stream(index, rank.errors, &errors_, Source::errors);
            if (!output_end || !errors_end) return cannot_start(index, "pipe", errno);
        }

        struct stat info {};
        fstat(theirs.get(), &info);
        const std::size_t shared = environment.size();
        environment.push_back(
            fmt::format("{}={}:{}:{}", env_bootstrap, theirs.get(), info.st_ino, lifeline.get()));
        environment.push_back(fmt::format("{}={}", env_rank, index));
        environment.push_back(fmt::format("{}={}", env_size, size_));
        environment.push_back(fmt::format("{}={}", env_local_rank, rank.plan->local_rank));
        const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
        const config::Affinity affinity(rank.plan->cpus);
        const SpawnResult result = spawn({getpid(),
                                          job_.program.c_str(),
                                          argv.data(),
                                          envp.data(),
                                          {index == 0 ? context_.standard_input : null_.get(),
                                           output_end ? output_end.get() : STDOUT_FILENO,
                                           errors_end ? errors_end.get() : STDERR_FILENO},
                                          theirs.get(),
                                          lifeline.get(),
                                          &affinity,
                                          &context_.signals,
                                          &context_.files});
        environment.resize(shared);
        if (result.pid < 0) return cannot_start(index, result.call, result.error);
        rank.pid = result.pid;
        rank.running = true;
        ++running_;
        watch(rank.channel->fd(), EPOLLIN | EPOLLRDHUP, Source::control, index);
        send_welcome(index);
        if (job_.verbose)
            say(fmt::format("torus-run: started {} on cpu {}\n", describe(index),
                            config::describe_cpus(rank.plan->cpus)));
        return true;
    }

    static std::vector<char*> pointers(std::vector<std::string>& strings) {
        std::vector<char*> list;
        list.reserve(strings.size() + 1);
        for (std::string& string : strings) list.push_back(string.data());
        list.push_back(nullptr);
        return list;
    }

    // The rank's end of a new pipe.
    Descriptor open_stream(int index, Stream& stream, Sink* sink, Source source) {
        int pipe_ends[2];
        if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {};
        fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
        stream.pipe = Descriptor(pipe_ends[0]);
        stream.tagger.emplace(index);
        stream.sink = sink;
        watch(stream.pipe.get(), EPOLLIN, source, index);
        return Descriptor(pipe_ends[1]);
    }

    bool cannot_start(int index, const char* call, int error) {
        const bool program = std::strcmp(call, "execve") == 0;
        const char* hint =
            program && error == ENOEXEC
                ? " (a script needs a first line such as #!/bin/sh; a program must be "
                  "built for this machine)"
                : "";
        say(fmt::format("torus-run: cannot start rank {} of {} on host {}: {} of {}: {}{}\n", index,
                        size_, job_.host, call, job_.program, std::strerror(error), hint));
        exit_code_ = program ? exit_usage : exit_failure;
        return false;
    }

    void send_welcome(int index) {
        auto bytes = std::make_shared<std::vector<std::byte>>(
            sizeof(Welcome) + std::size_t(size_) * sizeof(std::int32_t));
        Welcome welcome{protocol_version, index, size_, std::uint32_t(size_), {}};
        std::copy(secret_.begin(), secret_.end(), std::begin(welcome.secret));
        std::memcpy(bytes->data(), &welcome, sizeof welcome);
        for (std::int32_t local = 0; local < size_; ++local)
            std::memcpy(bytes->data() + sizeof welcome + std::size_t(local) * sizeof local, &local,
                        sizeof local);
        send(index, {std::uint32_t(FrameKind::welcome), 0, 0}, std::move(bytes));
    }

    // ---- the loop ----

    void watch(int fd, std::uint32_t events, Source source, int index) {
        epoll_event event{};
        event.events = events;
        event.data.u64 = (std::uint64_t(source) << 32) | std::uint32_t(index);
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST)
            epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
    }
    void unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

    void step() {
        epoll_event events[128];
        const int count = epoll_wait(epoll_.get(), events, 128, milliseconds_to_deadline());
        // Deaths first: what peers report about a dead rank must not hide its own cause. The signals
        // are taken off before: a SIGCHLD that came after reap() must wake the next step.
        hear_signals();
        reap();
        for (int i = 0; i < count && !kill_now_; ++i)
            handle(Source(events[i].data.u64 >> 32), int(std::uint32_t(events[i].data.u64)),
                   events[i].events);
        check_deadlines();
        pump();
    }

    int milliseconds_to_deadline() const {
        std::optional<Clock::time_point> next = kill_at_ ? kill_at_ : timeout_;
        if (!next) return -1;
        const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now()).count();
        return int(std::clamp<long long>(left, 0, 1'000'000));
    }

    void check_deadlines() {
        if (kill_at_ && Clock::now() >= *kill_at_) kill_now_ = true;
        if (timeout_ && !kill_at_ && Clock::now() >= *timeout_ && running_ > 0) {
            say(fmt::format(
                "torus-run: the job ran longer than its --timeout of {} s and is ended; still "
                "running: {}\n",
                double(job_.timeout.count()) / 1000, running_ranks()));
            begin_end(exit_timeout);
        }
    }

    std::string running_ranks() const {
        constexpr int most = 16;
        std::string text;
        int listed = 0;
        for (int i = 0; i < size_; ++i) {
            if (!ranks_[std::size_t(i)].running) continue;
            if (++listed > most) return text + ", ...";
            text +=
                fmt::format("{}{}", listed == 1 ? (running_ == 1 ? "rank " : "ranks ") : ", ", i);
        }
        return text;
    }

    void handle(Source source, int index, std::uint32_t events) {
        switch (source) {
            case Source::front:
                return hear_front();
            case Source::signals:
                return;  // step() has heard them
            case Source::control:
                if (events & EPOLLOUT) send_rest(index);
                return hear(index);
            case Source::connected:
                return connected_process_ended(index);
            case Source::output:
                return read_stream(ranks_[std::size_t(index)].output);
            case Source::errors:
                return read_stream(ranks_[std::size_t(index)].errors);
            case Source::sink:
                return;  // pump() follows every step
        }
    }

    // ---- the user ----

    void hear_front() {
        int signal = 0;
        const ssize_t n = recv(context_.front.get(), &signal, sizeof signal, MSG_DONTWAIT);
        if (n == sizeof signal) return user_signal(signal);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        front_gone_ = true;
        kill_now_ = true;
        exit_code_ = exit_failure;
    }

    void hear_signals() {
        signalfd_siginfo info;
        while (read(signals_.get(), &info, sizeof info) == ssize_t(sizeof info))
            if (info.ssi_signo != SIGCHLD) user_signal(int(info.ssi_signo));
    }

    void user_signal(int signal) {
        if (ends_programs(signal)) {
            if (sigismember(&ending_signals_seen_, signal) == 1 && signal != SIGHUP) {
                say(fmt::format("torus-run: a second {}: the ranks are killed\n",
                                signal_name(signal)));
                exit_code_ = exit_signal_base + signal;
                kill_now_ = true;
                return;
            }
            sigaddset(&ending_signals_seen_, signal);
        }
        for (const Rank& rank : ranks_) {
            if (!rank.running) continue;
            // A question to the program goes to the program; the rest to all that a wrapper
            // started.
            const bool question = signal == SIGUSR1 || signal == SIGUSR2;
            kill(question ? (rank.connected ? rank.connected_pid : rank.pid) : -rank.pid, signal);
        }
    }

    // ---- deaths ----

    struct Death {
        int index;
        int status;
    };

    void reap() {
        std::vector<Death> deaths;
        int status = 0;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
            if (const int index = index_of(pid); index >= 0) deaths.push_back({index, status});
        // Of several at once, one killed by a signal is the likelier cause.
        std::stable_partition(deaths.begin(), deaths.end(),
                              [](const Death& death) { return WIFSIGNALED(death.status); });
        for (const Death& death : deaths) ended(death.index, death.status);
    }

    // Others are orphans that came to us.
    int index_of(pid_t pid) const {
        for (int i = 0; i < size_; ++i)
            if (ranks_[std::size_t(i)].running && ranks_[std::size_t(i)].pid == pid) return i;
        return -1;
    }

    void ended(int index, int status) {
        Rank& rank = ranks_[std::size_t(index)];
        hear(index);  // what it said before it died
        rank.running = false;
        --running_;
        const int code = exit_code_of(status);
        if (WIFSIGNALED(status) && sigismember(&ending_signals_seen_, WTERMSIG(status)) == 1)
            fail(index,
                 fmt::format("was ended by {}, passed on by torus-run",
                             signal_name(WTERMSIG(status))),
                 code);
        else if (code != 0)
            fail(index, describe_end(status), code);
        else if (rank.connected && !rank.finalized)
            fail(index, "exited with code 0 without finalize()", exit_failure);
        check_absent();
    }

    // Under a wrapper (a shell script) the rank is not our child: the wrapper may outlive it.
    void connected_process_ended(int index) {
        Rank& rank = ranks_[std::size_t(index)];
        hear(index);
        if (rank.connected_process) unwatch(rank.connected_process.get());
        rank.connected_process.reset();
        if (rank.running && !rank.finalized)
            fail(index,
                 fmt::format("ended without finalize() (process {} under the wrapper)",
                             rank.connected_pid),
                 exit_failure);
    }

    // A rank that has left can join no collective call: whoever waits for it would wait for ever.
    void check_absent() {
        if (!gathering_.open()) return;
        for (int i = 0; i < size_; ++i) {
            const Rank& rank = ranks_[std::size_t(i)];
            if (gathering_.joined(i) || (rank.running && !rank.finalized)) continue;
            return fail(
                i,
                fmt::format("{} while {}",
                            rank.finalized ? "called finalize()" : "ended without connecting",
                            gathering_.describe_waiting()),
                exit_failure);
        }
    }

    void fail(int index, const std::string& cause, int code) {
        if (kill_at_ || kill_now_) return;
        say(fmt::format("torus-run: {} {}{}\n", describe(index), cause,
                        running_ > 0 ? "; the job is ended" : ""));
        begin_end(code);
    }

    void begin_end(int code) {
        exit_code_ = code;
        kill_at_ = Clock::now() + grace;
        for (const Rank& rank : ranks_) {
            if (!rank.running) continue;
            kill(-rank.pid, SIGTERM);
            kill(-rank.pid, SIGCONT);
        }
    }

    std::string describe(int index) const {
        const Rank& rank = ranks_[std::size_t(index)];
        return fmt::format("rank {} (host {}, pid {})", index, job_.host,
                           rank.connected ? rank.connected_pid : rank.pid);
    }

    // ---- what ranks say ----

    void hear(int index) {
        Channel& channel = *ranks_[std::size_t(index)].channel;
        if (!channel.open()) return;
        const bool more = channel.receive();
        Frame frame;
        while (channel.next(frame)) understand(index, frame);
        if (channel.damaged()) fail(index, "sent a damaged frame to torus-run", exit_failure);
        if (more && !channel.damaged()) return;
        unwatch(channel.fd());
        channel.close();
    }

    void understand(int index, Frame& frame) {
        Rank& rank = ranks_[std::size_t(index)];
        const auto kind = FrameKind(frame.header.kind);
        if (kind != FrameKind::hello && !rank.connected)
            return fail(index, "spoke before it connected", exit_failure);
        switch (kind) {
            case FrameKind::hello:
                return hello(index, frame);
            case FrameKind::exchange:
            case FrameKind::barrier:
                return collective(index, kind, frame);
            case FrameKind::finalize:
                rank.finalized = true;
                return check_absent();
            case FrameKind::abort:
                return aborted(index, frame);
            default:
                return fail(index,
                            fmt::format("sent a frame of unknown kind {}", frame.header.kind),
                            exit_failure);
        }
    }

    void hello(int index, const Frame& frame) {
        Rank& rank = ranks_[std::size_t(index)];
        Hello hello{};
        if (frame.body.size() == sizeof hello) std::memcpy(&hello, frame.body.data(), sizeof hello);
        if (hello.version != protocol_version || hello.reserved != 0)
            return fail(index, "sent a damaged greeting", exit_failure);
        if (rank.connected)
            return fail(index,
                        fmt::format("connected, and then process {} did so in its place: only one of "
                                    "the processes that a rank starts may join the job",
                                    frame.sender),
                        exit_failure);
        rank.connected = true;
        rank.connected_pid = frame.sender > 0 ? frame.sender : rank.pid;
        if (rank.connected_pid == rank.pid) return;
        rank.connected_process = Descriptor(int(syscall(SYS_pidfd_open, rank.connected_pid, 0)));
        if (rank.connected_process)
            watch(rank.connected_process.get(), EPOLLIN, Source::connected, index);
    }

    void collective(int index, FrameKind kind, Frame& frame) {
        if (ranks_[std::size_t(index)].finalized)
            return fail(index, "made a collective call after finalize()", exit_failure);
        if (auto contradiction =
                gathering_.join(index, kind, frame.header.sequence, std::move(frame.body)))
            return fail(index, *contradiction, exit_failure);
        if (!gathering_.complete()) return check_absent();
        const Gathering::Answer answer = gathering_.finish();
        for (int i = 0; i < size_; ++i) send(i, answer.header, answer.bytes);
    }

    void aborted(int index, const Frame& frame) {
        std::int32_t code = exit_failure;
        std::string text;
        if (frame.body.size() >= sizeof code) {
            std::memcpy(&code, frame.body.data(), sizeof code);
            text.assign(reinterpret_cast<const char*>(frame.body.data()) + sizeof code,
                        frame.body.size() - sizeof code);
        }
        while (!text.empty() && text.back() == '\n') text.pop_back();
        fail(index, fmt::format("aborted with code {}: {}", code, text),
             (code & 0xff) != 0 ? code & 0xff : exit_failure);
    }

    void send(int index, FrameHeader header, SharedBytes bytes) {
        Channel& channel = *ranks_[std::size_t(index)].channel;
        channel.send(header, std::move(bytes));
        if (channel.open() && channel.has_unsent())
            watch(channel.fd(), EPOLLIN | EPOLLRDHUP | EPOLLOUT, Source::control, index);
    }

    void send_rest(int index) {
        Channel& channel = *ranks_[std::size_t(index)].channel;
        channel.flush();
        if (channel.open() && !channel.has_unsent())
            watch(channel.fd(), EPOLLIN | EPOLLRDHUP, Source::control, index);
    }

    // ---- output ----

    void say(std::string_view text) {
        errors_.add(text);
        pump_one(errors_);
    }

    void read_stream(Stream& stream) {
        char piece[16384];
        while (stream.pipe && !stream.sink->full()) {
            const ssize_t n = read(stream.pipe.get(), piece, sizeof piece);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0 && errno == EAGAIN) return;
            if (n <= 0) return close_stream(stream);
            stream.tagger->take({piece, std::size_t(n)}, *stream.sink);
            pump_one(*stream.sink);
        }
    }

    void close_stream(Stream& stream) {
        stream.tagger->finish(*stream.sink);
        unwatch(stream.pipe.get());
        stream.pipe.reset();
    }

    template <class Action>
    void for_streams_of(const Sink& sink, Action action) {
        for (int i = 0; i < size_; ++i) {
            Rank& rank = ranks_[std::size_t(i)];
            if (rank.output.pipe && rank.output.sink == &sink)
                action(rank.output, Source::output, i);
            if (rank.errors.pipe && rank.errors.sink == &sink)
                action(rank.errors, Source::errors, i);
        }
    }

    void pump() {
        pump_one(own_output_);
        pump_one(errors_);
    }

    // A slow reader stops the ranks that write, never torus-run; a reader that left ends their
    // pipes, as it would without torus-run between.
    void pump_one(Sink& sink) {
        bool& paused = &sink == &errors_ ? errors_paused_ : output_paused_;
        if (!sink.pump()) {
            for_streams_of(sink, [&](Stream& stream, Source, int) { close_stream(stream); });
            return;
        }
        if (!sink.empty()) watch(sink.fd(), EPOLLOUT | EPOLLONESHOT, Source::sink, 0);
        if (sink.full() && !paused) {
            paused = true;
            for_streams_of(sink, [&](Stream& stream, Source, int) { unwatch(stream.pipe.get()); });
        } else if (!sink.full() && paused) {
            paused = false;
            for_streams_of(sink, [&](Stream& stream, Source source, int i) {
                watch(stream.pipe.get(), EPOLLIN, source, i);
            });
        }
    }

    // ---- the end ----

    void end_everything() {
        const std::vector<pid_t> left_behind = children();
        const bool orderly = running_ == 0 && !kill_at_ && !kill_now_;
        const std::vector<pid_t> stuck = kill_descendants(kill_patience);
        if (front_gone_) return;
        if (orderly && !left_behind.empty())
            say(fmt::format("torus-run: {} process{} that the ranks left behind {} ended: pid {}\n",
                            left_behind.size(), left_behind.size() == 1 ? "" : "es",
                            left_behind.size() == 1 ? "was" : "were",
                            fmt::join(left_behind, ", ")));
        if (!stuck.empty())
            say(fmt::format("torus-run: these processes cannot be killed: pid {}\n",
                            fmt::join(stuck, ", ")));
        write_rest();
        if (job_.verbose)
            say(fmt::format("torus-run: the job ended after {:.3f} s with exit code {}\n",
                            std::chrono::duration<double>(Clock::now() - started_).count(),
                            exit_code_));
        flush_sinks();
    }

    // No writer is left: read every pipe to its end.
    void write_rest() {
        for (Rank& rank : ranks_)
            for (Stream* stream : {&rank.output, &rank.errors})
                while (stream->pipe && !front_gone_) {
                    read_stream(*stream);
                    flush_sinks();
                }
    }

    // Waits for the reader, but not beyond the life of the front.
    void flush_sinks() {
        for (Sink* sink : {&own_output_, &errors_})
            while (sink->pump() && !sink->empty() && !front_gone_) {
                pollfd wait[2] = {{sink->fd(), POLLOUT, 0}, {context_.front.get(), POLLRDHUP, 0}};
                poll(wait, 2, -1);
                if (wait[1].revents & (POLLHUP | POLLRDHUP)) front_gone_ = true;
            }
    }

    const Job& job_;
    KeeperContext context_;
    const int size_;
    const Secret secret_;
    Clock::time_point started_;
    Descriptor epoll_, signals_, null_;
    std::vector<Rank> ranks_;
    int running_ = 0;
    Gathering gathering_;
    Sink own_output_, errors_;
    Sink* output_;  // standard output; shares the other's Sink where both lead to one place
    bool output_paused_ = false, errors_paused_ = false;
    sigset_t ending_signals_seen_{};
    std::optional<Clock::time_point> timeout_, kill_at_;
    bool kill_now_ = false;
    bool front_gone_ = false;
    int exit_code_ = 0;
};

}  // namespace

int keep(const Job& job, KeeperContext context) {
    return Keeper(job, std::move(context)).run();
}

}  // namespace torusmp::launch
