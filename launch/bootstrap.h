// SPDX-License-Identifier: BSD-3-Clause
// How a rank learns who it is and meets the others: one small interface over torus-run's own
// launcher, PMIx, and the single process without a launcher.
//
// Owned by the front end that starts the Runtime; one thread at a time may call. Collective calls
// must be made by all ranks in the same order. Errors are BootstrapError with a message for people.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "routing/link_news.h"
#include "routing/detours.h"

namespace torusmp::launch {

class BootstrapError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A rank that is gone, as the launcher knows it.
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
    // Ranks of this host, ascending, this one included.
    virtual const std::vector<int>& local_ranks() const = 0;
    // The same on every rank of a job, different for every job: 16 random bytes.
    virtual std::span<const std::byte> secret() const = 0;

    // The bytes of all ranks, by rank. Collective; lengths may differ.
    virtual std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) = 0;
    // Collective; sleeps, never spins.
    virtual void barrier() = 0;
    // Deaths that the launcher has reported since the last call; never waits. Unlike the other
    // calls it may be made by one thread while another is in exchange() or barrier(). Where a
    // launcher reports nothing, the list stays empty.
    virtual std::vector<Death> deaths() { return {}; }
    // Readable when deaths() has something to give, for poll() and epoll; -1: the launcher reports
    // nothing.
    virtual int deaths_descriptor() { return -1; }
    // Whether the job lives on after a death (torus-run --keep-going). exchange() then gives no
    // bytes for the dead, and barrier() does not wait for them. Otherwise the job is being ended
    // when a death is told.
    virtual bool keeps_going() const { return false; }
    // Cables between nodes that the launcher found dead before the ranks started, as links of the
    // torus of nodes; every rank is told the same ones. Where a launcher has not looked, none.
    virtual const std::vector<routing::Link>& dead_cables() const;
    // Reports that a cable under one of this rank's links died, what carries the link now, or that
    // the cable is back. The ranks at both ends report; the launcher says it once. By any thread.
    // Without a launcher to report to, one of the two ends prints it, and not for ever.
    virtual void report_link(const routing::LinkNews& news);
    // Reports something that went wrong and may end the job, or follow from what does: whoever
    // knows the whole prints it if it is news. By any thread. Without a launcher to report to, it
    // is printed at once.
    virtual void note(std::string_view text);
    // Tells the launcher what this rank waits for (core/waits/), because it was asked or, overdue,
    // because the wait lasts long. False: there is no launcher that listens. By any thread.
    virtual bool report_waits(std::span<const std::byte> waits, bool overdue);
    // Gives this rank's control page to a launcher that watches its ranks: a descriptor of memory
    // that stays open as long as this process is in the job. Others ignore it.
    virtual void share_page(int /*descriptor*/) {}
    // Ends the whole job. The launcher prints the message, stops every rank and exits with code.
    [[noreturn]] virtual void abort(int code, std::string_view message) = 0;
    // This rank is done in an orderly way: leaving without this call is reported as a failure of
    // the job.
    virtual void finalize() = 0;

  private:
    std::atomic<int> printed_{0};  // reports of links
};

// Finds out who started this process and connects to it. Throws BootstrapError when a launcher is
// recognised but cannot be talked to: a program started N times must never run as N silent
// single ranks.
std::unique_ptr<Bootstrap> connect_bootstrap();

}  // namespace torusmp::launch
