// SPDX-License-Identifier: BSD-3-Clause
// How a rank gets its identity and connects to the others: one small interface over torus-run's own
// launcher, PMIx, and the single process without a launcher.
//
// Owned by the front end that starts the Runtime; one thread at a time may call. Collective calls
// must be made by all ranks in the same order. Errors are thrown as BootstrapError with a message
// for users.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "routing/detours.h"
#include "routing/link_news.h"

namespace torusmp::launch {

class BootstrapError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A dead rank, as reported by the launcher.
struct Death {
    int rank = -1;
    std::string host;
    std::string cause;  // completes "rank 3 (host qcd001) ...": "was killed by SIGKILL (Killed)"

    friend bool operator==(const Death&, const Death&) = default;
};

class Bootstrap {
  public:
    virtual ~Bootstrap() = default;

    virtual std::string_view name() const = 0;  // "torus-run", "pmix", "single"
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Ranks of this host, ascending, including this one.
    virtual const std::vector<int>& local_ranks() const = 0;
    // The same on every rank of a job, different for every job: 16 random bytes.
    virtual std::span<const std::byte> secret() const = 0;

    // The bytes of all ranks, by rank. Collective; lengths may differ.
    virtual std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) = 0;
    // Collective; sleeps, never spins.
    virtual void barrier() = 0;
    // Deaths reported by the launcher since the last call; never waits. Unlike the other calls it
    // may be made by one thread while another is in exchange() or barrier(). Empty if the launcher
    // does not report deaths.
    virtual std::vector<Death> deaths() { return {}; }
    // Readable when deaths() has new entries, for poll() and epoll; -1 if the launcher does not
    // report deaths.
    virtual int deaths_descriptor() { return -1; }
    // Whether the job continues after a death (torus-run --keep-going). exchange() then returns no
    // bytes for dead ranks, and barrier() does not wait for them. Otherwise the job is already
    // being ended when a death is reported.
    virtual bool keeps_going() const { return false; }
    // Cables between nodes that the launcher found dead before the ranks started, as links of the
    // torus of nodes; the same on every rank. Empty if the launcher did not check.
    virtual const std::vector<routing::Link>& dead_cables() const;
    // Reports that a cable under one of this rank's links died, the detour that replaces it, or
    // that the cable is back. The ranks at both ends report; the launcher prints it once. Any
    // thread may call. Without a launcher, one of the two ends prints it, up to a limit.
    virtual void report_link(const routing::LinkNews& news);
    // Reports an error that may end the job, or may be a consequence of an error that does: a
    // launcher that knows the cause prints it only if it is new. Any thread may call. Without a
    // launcher it is printed immediately.
    virtual void note(std::string_view text);
    // Reports what this rank waits for (core/waits/) to the launcher, in answer to a question or,
    // if `overdue`, because the wait lasts long. Returns false if no launcher takes such
    // reports. Any thread may call.
    virtual bool report_waits(std::span<const std::byte> waits, bool overdue);
    // Passes this rank's control page to a launcher that watches its ranks: a descriptor of memory
    // that stays open as long as this process is in the job. Ignored by other launchers.
    virtual void share_page(int /*descriptor*/) {}
    // Ends the whole job. The launcher prints the message, stops every rank and exits with `code`.
    [[noreturn]] virtual void abort(int code, std::string_view message) = 0;
    // Announces the orderly end of this rank: leaving without this call is reported as a failure of
    // the job.
    virtual void finalize() = 0;
    // Called after finalize(): this rank joins its job once more. The collective calls that follow
    // are made by all ranks again; the launcher makes them for ranks that have ended. All deaths
    // are reported again. Throws BootstrapError if the launcher cannot do that.
    virtual void join_again();
    // Leaves the end of a child process to the launcher: the launcher waits for the child even if
    // this process has ended, and the job ends with the child's exit code, unless it means a
    // death and these are allowed. Returns false if the launcher does not support this.
    virtual bool adopt(pid_t /*child*/, bool /*deaths_allowed*/) { return false; }

  private:
    std::atomic<int> printed_{0};  // reports of links
};

// Detects the launcher of this process and connects to it. Throws BootstrapError if a launcher is
// recognised but its protocol is not available: a program started N times must not silently run as
// N single ranks.
std::unique_ptr<Bootstrap> connect_bootstrap();

}  // namespace torusmp::launch
