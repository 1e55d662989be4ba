// SPDX-License-Identifier: BSD-3-Clause
// rxe-exec NODE COMMAND...: runs a command on another node of the testbed, as ssh would. It has the
// environment of that node and the working directory of this one. The streams and the exit code are
// returned. rxe-exec --serve: in each guest, serves such calls in the background.
//
// The testbed's agent for launchers. It is a separate program because a guest has no sshd, and
// because an emulated guest needs a second to start an interpreter. rxe-vm builds it itself,
// static, so that it needs only this file. It does not authenticate callers, because the management
// LAN is closed.
//
// The caller sends the directory and the words of the command, each ended by a zero byte, an empty
// word last, then its standard input. Frames come back: a byte for the stream (1, 2, or 0 for the
// end with the exit code), four for the length.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int serving_port = 7117;
constexpr int lost = 255;  // as ssh: not the command's own code
constexpr std::size_t piece = 64 << 10;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "rxe-exec: %s: %s\n", what.c_str(), std::strerror(errno));
    _exit(lost);
}

bool write_all(int to, const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
        const ssize_t n = write(to, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= std::size_t(n);
    }
    return true;
}

bool read_all(int from, void* data, std::size_t size) {
    char* at = static_cast<char*>(data);
    while (size > 0) {
        const ssize_t n = read(from, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        size -= std::size_t(n);
    }
    return true;
}

// Until one of them ends.
void pump(int from, int to) {
    std::vector<char> buffer(piece);
    for (;;) {
        const ssize_t n = read(from, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 || !write_all(to, buffer.data(), std::size_t(n))) return;
    }
}

// ---- the caller ----

// By /etc/hosts, which names all nodes; the C library's own way cannot be linked statically.
in_addr address_of(const std::string& host) {
    std::ifstream hosts("/etc/hosts");
    in_addr found{};
    for (std::string address, name; hosts >> address >> name; hosts.ignore(1000, '\n'))
        if (name == host && inet_pton(AF_INET, address.c_str(), &found) == 1) return found;
    std::fprintf(stderr,
                 "rxe-exec: '%s' is not a node of this testbed: expected a name like node-1\n",
                 host.c_str());
    _exit(lost);
}

int call(const char* host) {
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(serving_port);
    there.sin_addr = address_of(host);
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{30, 0}, forever{0, 0};  // for a guest that is gone
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(s, reinterpret_cast<sockaddr*>(&there), sizeof there) != 0)
        fail(std::string("no answer from ") + host);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof forever);
    return s;
}

void stay_awake(int s) {
    // A guest that was killed says nothing more; what was sent to it is given up after as long.
    const int on = 1, idle = 5, milliseconds = 15000;
    setsockopt(s, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(s, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(s, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
    setsockopt(s, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

[[noreturn]] void copy_back(int s, const char* host) {
    std::vector<char> buffer;
    for (;;) {
        std::uint8_t stream = 0;
        std::uint32_t length = 0;
        if (!read_all(s, &stream, 1) || !read_all(s, &length, 4)) break;
        buffer.resize(ntohl(length));
        if (stream == 0) _exit(int(ntohl(length)));
        if (stream > 2 || !read_all(s, buffer.data(), buffer.size())) break;
        write_all(stream, buffer.data(), buffer.size());
    }
    std::fprintf(stderr, "rxe-exec: the connection to %s ended before the command did\n", host);
    _exit(lost);
}

[[noreturn]] void run_elsewhere(char** words) {
    const int s = call(words[0]);
    stay_awake(s);
    char folder[4096];
    std::string order = getcwd(folder, sizeof folder) ? folder : "/";
    order += '\0';
    for (char** word = words + 1; *word; ++word) {
        order += *word;
        order += '\0';
    }
    order += '\0';
    if (!write_all(s, order.data(), order.size())) fail("sending the command");
    std::thread([s] {
        pump(STDIN_FILENO, s);
        shutdown(s, SHUT_WR);
    }).detach();
    copy_back(s, words[0]);
}

// ---- the server ----

// Byte by byte: what follows the order is the command's input.
std::vector<std::string> read_order(int s) {
    std::vector<std::string> words(1);
    for (char c; read_all(s, &c, 1);) {
        if (c)
            words.back() += c;
        else if (words.back().empty())
            return words.pop_back(), words;
        else
            words.emplace_back();
    }
    _exit(lost);
}

struct Pipe {
    int read_end, write_end;
    Pipe() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
        read_end = ends[0];
        write_end = ends[1];
    }
};

[[noreturn]] void become(const std::vector<std::string>& order, const Pipe (&streams)[3]) {
    dup2(streams[0].read_end, STDIN_FILENO);
    dup2(streams[1].write_end, STDOUT_FILENO);
    dup2(streams[2].write_end, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGCHLD, SIG_DFL);
    std::vector<char*> argv;
    for (std::size_t i = 1; i < order.size(); ++i)
        argv.push_back(const_cast<char*>(order[i].c_str()));
    argv.push_back(nullptr);
    if (chdir(order[0].c_str()) != 0) fail(order[0]);
    execvp(argv[0], argv.data());
    std::fprintf(stderr, "rxe-exec: %s: %s\n", argv[0], std::strerror(errno));
    _exit(127);
}

bool send_frame(int s, std::uint8_t stream, std::uint32_t number, const char* data = nullptr) {
    char head[5] = {char(stream)};
    const std::uint32_t in_order = htonl(number);
    std::memcpy(head + 1, &in_order, 4);
    return write_all(s, head, sizeof head) && (!data || write_all(s, data, number));
}

// Both output streams until their ends; a caller that is gone does not keep the command from
// ending.
void copy_output(int s, int output, int errors) {
    std::vector<char> buffer(piece);
    pollfd ends[] = {{output, POLLIN, 0}, {errors, POLLIN, 0}};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        if (poll(ends, 2, -1) < 0) continue;
        for (int i = 0; i < 2; ++i) {
            if (!ends[i].revents) continue;
            const ssize_t n = read(ends[i].fd, buffer.data(), buffer.size());
            const bool gone =
                n > 0 && !send_frame(s, std::uint8_t(i + 1), std::uint32_t(n), buffer.data());
            if (n > 0 && !gone) continue;
            close(ends[i].fd);
            ends[i].fd = -1;
        }
    }
}

[[noreturn]] void answer(int s) {
    stay_awake(s);
    setsid();
    signal(SIGCHLD, SIG_DFL);
    const std::vector<std::string> order = read_order(s);
    if (order.size() < 2) _exit(lost);
    const Pipe streams[3];
    const pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) become(order, streams);
    close(streams[0].read_end);
    close(streams[1].write_end);
    close(streams[2].write_end);
    std::thread([s, to = streams[0].write_end] {
        pump(s, to);
        close(to);
    }).detach();
    copy_output(s, streams[1].read_end, streams[2].read_end);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    send_frame(s, 0,
               std::uint32_t(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
    _exit(0);
}

int serve() {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(serving_port);
    if (bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
        listen(listener, 64) != 0)
        fail("port " + std::to_string(serving_port));
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    if (const pid_t child = fork()) return child < 0;  // the listener is there: callers may come
    for (;;) {
        const int s = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (s < 0) continue;
        if (fork() == 0) answer(s);
        close(s);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string(argv[1]) == "--serve") return serve();
    if (argc < 3 || argv[1][0] == '-') {
        std::fputs("usage: rxe-exec NODE COMMAND...   (NODE: node-3)\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    run_elsewhere(argv + 1);
}
