// SPDX-License-Identifier: BSD-3-Clause
// Waits that last long, calls that are repeated until they find something, and ranks that wait for
// a core: how the cause is found and reported.

#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "core/progress/cpu_contention.h"
#include "job.h"
#include "tests/core/sleeping_pair.h"

namespace torusmp::core::long_wait_test {
namespace {

using testing::comes_true;
using testing::Job;
using testing::Pair;
using transport::Clock;

class Unfinished final : public Task {
  public:
    bool advance() override { return finished; }
    void report(Waits& waits) const override {
        waits.add(Waits::Collective{.name = "a test's task", .id = this});
    }
    void linger() override { lingered = true; }

    bool finished = false;
    std::atomic<bool> lingered{false};
};

// A message from rank 1 for which a thread of rank 0 waits until the test sends it.
class Waiting {
  public:
    explicit Waiting(Pair& pair)
        : pair_(pair), thread_([this] {
              pair_.ranks[0]->receive(request_, Buffer(&in_, sizeof in_), 1, 0, 0);
              pair_.ranks[0]->wait(request_, "MPI_Recv");
          }) {}
    ~Waiting() {
        pair_.send_to_first(0);
        thread_.join();
    }

  private:
    Pair& pair_;
    Tag in_ = -1;
    ReceiveRequest request_;
    std::thread thread_;
};

}  // namespace

TEST_CASE("the watchdog reports a wait once per period, and tasks look for the cause before that") {
    constexpr std::chrono::milliseconds period(80);
    Unfinished task;
    std::atomic<int> reports{0};
    std::atomic<bool> looked_late{false}, misnamed{false};
    std::atomic<Clock::duration> third{};
    const auto began = Clock::now();
    Pair pair(Pair::several, [&](Options& options) {
        options.set(setting::watchdog, std::chrono::nanoseconds(period));
        options.on_waits = [&](const Waits& waits, WaitsWanted) {
            if (waits.rank != 0) return true;
            if (!task.lingered) looked_late = true;
            // The report names the call and marks the receive that it awaits.
            if (waits.calls.size() != 1 || waits.calls[0].name != "MPI_Recv" ||
                waits.operations.size() != 1 || waits.operations[0].call != 0)
                misnamed = true;
            if (++reports == 3) third = Clock::now() - began;
            return true;
        };
    });
    pair.ranks[0]->add_task(task);
    {
        const Waiting waiting(pair);
        CHECK(comes_true([&] { return reports >= 3; }));
        const auto lock = pair.ranks[0]->lock();
        task.finished = true;
    }
    CHECK_FALSE(looked_late);
    CHECK_FALSE(misnamed);
    CHECK(third.load() >= 3 * period);
    pair.ranks[0]->recheck();
    pair.ranks[0]->progress();
}

TEST_CASE("a report names a call that is repeated, and what it looks for") {
    Unfinished task;
    Job job({.dims = {2}});
    job[0].add_task(task);
    job.page(0).asked() |= ControlPage::report_wanted;
    job[0].progress_for("MPI_Test", AwaitedTask(task));
    CHECK(job.has_logged("repeatedly calls MPI_Test of a test's task"));
    job.page(0).asked() |= ControlPage::report_wanted;
    job[0].progress();
    REQUIRE(job.log().size() == 2);
    CHECK(job.log().back().find("repeatedly") == std::string::npos);
    task.finished = true;
    job[0].recheck();
    job.settle();
}

TEST_CASE("a report lists the receives and the messages for which a repeated call looks") {
    struct Sought final : Awaited {
        explicit Sought(const Request& request) : receive(request) {}
        void list(List& list) const override {
            list.ids.push_back(&receive);
            list.operations.push_back(
                {.kind = Waits::Operation::Kind::probe, .peer = 1, .tag = 88});
        }
        const Request& receive;
    };
    Tag in = 0;
    ReceiveRequest receive;
    Job job({.dims = {2}});
    job[0].receive(receive, Buffer(&in, sizeof in), 1, 0, 77);
    job.page(0).asked() |= ControlPage::report_wanted;
    job[0].progress_for("MPI_Testany", Sought(receive));
    REQUIRE(job.log().size() == 1);
    const std::string& report = job.log().front();
    INFO(report);
    const auto call = report.find("repeatedly calls MPI_Testany");
    REQUIRE(call != std::string::npos);
    CHECK(report.find("tag 77", call) != std::string::npos);
    CHECK(report.find("tag 88", call) != std::string::npos);
    job[0].cancel(receive);
    job.settle();
}

TEST_CASE("a rank reads the kernel's account of its waits for a core") {
    CpuContention contention;
    bool looked = false;
    for (int sleeps = 0; sleeps < 100 && !looked; ++sleeps) looked = contention.slept();
    CHECK(looked == (access("/proc/thread-self/schedstat", R_OK) == 0));
}

}  // namespace torusmp::core::long_wait_test
