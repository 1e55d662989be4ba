// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launch/bootstrap.h"
#include "launch/implementations.h"

namespace torusmp::launch {

Secret random_secret() {
    Secret secret;
    std::size_t filled = 0;
    while (filled < secret.size()) {
        const ssize_t n = getrandom(secret.data() + filled, secret.size() - filled, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            throw BootstrapError(fmt::format("cannot get random bytes for the job's secret: {}",
                                             std::strerror(errno)));
        filled += std::size_t(n);
    }
    return secret;
}

void Bootstrap::note(std::string_view text) {
    fmt::print(stderr, "{}\n", text);
}

bool Bootstrap::report_waits(std::span<const std::byte>, bool) {
    return false;
}

void Bootstrap::join_again() {
    throw BootstrapError(fmt::format(
        "{} has left its job in MPI_Finalize, and the launcher ({}) cannot let it join again: open "
        "a session before MPI_Finalize, or start the program with torus-run",
        describe_self(rank()), name()));
}

const std::vector<routing::Link>& Bootstrap::dead_cables() const {
    static const std::vector<routing::Link> none;
    return none;
}

// A dead link without a detour ends the job, which reports it.
void Bootstrap::report_link(const routing::LinkNews& news) {
    constexpr int most = 20;
    if (news.direction.sign < 0 || news.state == routing::LinkNews::State::dead) return;
    const int before = printed_++;
    if (before > most) return;
    std::string ranks;
    for (const routing::Hop& hop : news.path)
        if (hop.rank != news.peer)
            ranks += fmt::format("{} {}", ranks.empty() ? "" : ",", hop.rank);
    std::string text = fmt::format("the link between rank {} and rank {} ", rank(), news.peer);
    if (before == most)
        text = "further reports of links that die and return are suppressed";
    else if (news.state == routing::LinkNews::State::alive)
        text += "uses its cable again";
    else
        text += fmt::format("uses a detour around its dead cable, over {}{}",
                            ranks.empty() ? "the other cable" : "rank" + ranks,
                            news.why.empty() ? "" : "; " + news.why);
    note(text);
}

std::string describe_self(int rank) {
    char host[256] = "unknown";
    gethostname(host, sizeof host - 1);
    return fmt::format("rank {} (host {}, pid {})", rank, host, getpid());
}

namespace {

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value && *value;
}

// A process that has connected sets a variable to its pid. A process that finds another pid there
// is a child of a rank and runs as a single process; its own pid means a second call, an error.
bool child_of_a_rank() {
    const char* connected = std::getenv(env_connected);
    if (!connected || !*connected) return false;
    if (std::atol(connected) == long(getpid()))
        throw BootstrapError(
            "connect_bootstrap() was called a second time in one process: a rank joins its job "
            "once; "
            "keep the first connection until the program ends");
    return true;
}

// Runs when the library is loaded, since a program may print before it joins the job. In this file,
// so that programs linked with the static archive include it too.
[[gnu::constructor]] void write_output_by_lines() {
    if (is_set(env_line_output)) std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
}

[[noreturn]] void refuse(const ForeignLauncher& launcher) {
    throw BootstrapError(fmt::format(
        "this process was started by {} ({}) as one of several, but torusmp does not support that "
        "launcher and refuses to run as separate jobs of one rank: {}",
        launcher.name, launcher.found, launcher.remedy));
}

}  // namespace

// torus-run removes the variables of other launchers from its ranks. So if PMIx variables exist
// beside ours, a launcher was started inside a rank, and the inner launcher counts.
std::unique_ptr<Bootstrap> connect_bootstrap() {
    if (child_of_a_rank()) return connect_single();
    if (is_set("PMIX_RANK") && is_set("PMIX_NAMESPACE")) return connect_pmix();
    if (is_set(env_bootstrap)) return connect_torus_run();
    if (const auto launcher = find_foreign_launcher()) refuse(*launcher);
    return connect_single();
}

}  // namespace torusmp::launch
