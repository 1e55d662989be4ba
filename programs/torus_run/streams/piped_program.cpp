// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/piped_program.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "programs/torus_run/streams/text.h"

namespace torusmp::torus_run {
namespace {

constexpr std::size_t longest_errors = 4096;
// The program may end a moment after its output.
constexpr int program_end_timeout = 1000;  // ms

}  // namespace

PipedProgram::PipedProgram(const std::vector<std::string>& command, Loop& loop, Said said,
                           Ended ended)
    : loop_(loop), said_(std::move(said)), ended_(std::move(ended)), process_(command) {
    loop_.watch(process_->output().get(), EPOLLIN, [this](auto) { read_output(); });
    loop_.watch(process_->errors().get(), EPOLLIN, [this](auto) { read_errors(); });
    loop_.watch(process_->input().get(), EPOLLONESHOT, [this](auto) { write(); });
}

void PipedProgram::send(std::string_view text) {
    unsent_ += text;
    write();
}

void PipedProgram::drop() {
    if (!process_) return;
    for (const base::Descriptor* end :
         {&process_->output(), &process_->errors(), &process_->input()})
        loop_.forget(end->get());
    process_.reset();
}

bool PipedProgram::reaped(pid_t pid, int status) {
    if (!process_ || process_->pid() != pid) return false;
    process_->reaped(status);
    return true;
}

void PipedProgram::write() {
    while (!unsent_.empty() && process_) {
        const ssize_t put = ::write(process_->input().get(), unsent_.data(), unsent_.size());
        if (put < 0) break;  // retried later, or the output of the program ends
        unsent_.erase(0, std::size_t(put));
    }
    if (process_)
        loop_.change(process_->input().get(),
                     unsent_.empty() ? std::uint32_t(EPOLLONESHOT) : std::uint32_t(EPOLLOUT));
}

void PipedProgram::read_errors() {
    char bytes[4096];
    for (;;) {
        const ssize_t got = ::read(process_->errors().get(), bytes, sizeof bytes);
        if (got == 0) loop_.forget(process_->errors().get());
        if (got <= 0) break;
        errors_.append(bytes, std::size_t(got));
        if (errors_.size() > longest_errors) errors_.erase(0, errors_.size() - longest_errors);
    }
}

void PipedProgram::read_output() {
    char bytes[16384];
    while (process_) {
        const ssize_t got = ::read(process_->output().get(), bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return;
        if (got == 0) return ended();
        said_({bytes, std::size_t(got)});
    }
}

void PipedProgram::ended() {
    read_errors();
    std::string said = errors_;
    std::erase(said, '\r');  // ssh ends its lines with it
    std::replace(said.begin(), said.end(), '\n', ' ');
    while (!said.empty() && said.back() == ' ') said.pop_back();
    pollfd process{process_->process(), POLLIN, 0};
    ::poll(&process, 1, program_end_timeout);
    const auto status = process_->end();
    drop();
    ended_(fmt::format("{}{}", status ? describe_end(*status) : "closed its output",
                       said.empty() ? "" : ": " + base::printable(said, 300)));
}

}  // namespace torusmp::torus_run
