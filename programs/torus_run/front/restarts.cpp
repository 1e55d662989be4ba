// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/front/restarts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/front/front.h"
#include "programs/torus_run/front/placement.h"
#include "programs/torus_run/front/plan.h"

namespace torusmp::torus_run {
namespace {

using Clock = std::chrono::steady_clock;

// Standard input of rank 0. A file is read from its beginning by each start; what was read from a
// pipe is gone, so restarts find its end.
class RepeatedInput {
  public:
    RepeatedInput() {
        struct stat info {};
        if (fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return;
        file_ = base::Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
        begin_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
    }
    void rewind() const {
        if (!file_) return;
        lseek(file_.get(), begin_, SEEK_SET);
        dup2(file_.get(), STDIN_FILENO);
    }

  private:
    base::Descriptor file_;
    off_t begin_ = 0;
};

class Restarts {
  public:
    Restarts(const Options& options, Job job)
        : options_(options), job_(std::make_unique<Job>(std::move(job))) {}

    int run() {
        while (true) {
            const JobResult result = run_job(*job_);
            if (!result.ending || result.user_ended) return result.code;
            using How = JobEnding::How;
            const How how = result.ending->how;
            const bool refused = how == How::refused || how == How::cut;
            if (!refused || restart_.number == 0) code_ = result.code;
            if (!(refused ? learn_of_refusal(*result.ending) : learn_of_death(*result.ending)))
                return result.code;
            if (!plan()) return code_;
            input_.rewind();
        }
    }

  private:
    std::vector<std::string> names_of(const JobEnding& ending) const {
        std::vector<std::string> names;
        for (const int node : ending.nodes) names.push_back(job_->hosts[std::size_t(node)].name);
        return names;
    }

    // False: the job is over.
    bool learn_of_death(const JobEnding& ending) {
        if (ending.how != JobEnding::How::death || restart_.number >= options_.restarts)
            return false;
        ++restart_.number;
        restart_.unusable.clear();
        for (const std::string& host : names_of(ending)) {
            std::erase(restart_.lost, host);
            restart_.lost.push_back(host);
        }
        last_ = std::move(job_);
        return true;
    }

    // A refused restart is not counted. Each refusal takes hosts away, so there are few of them.
    // The first start moves away from dead cables only, since a host that cannot be used may show
    // that none can.
    bool learn_of_refusal(const JobEnding& ending) {
        if (restart_.number == 0 && !(job_->movable && ending.how == JobEnding::How::cut))
            return false;
        std::vector<std::string> names = names_of(ending);
        for (const HostPlan& host :
             job_->hosts)  // a fault that names no host: those that died once
            if (ending.nodes.empty() &&
                std::count(restart_.lost.begin(), restart_.lost.end(), host.name) > 0)
                names.push_back(host.name);
        restart_.unusable.insert(restart_.unusable.end(), names.begin(), names.end());
        return !names.empty();
    }

    bool plan() {
        restart_.before = last_.get();
        const bool moves = restart_.number == 0;
        std::unique_ptr<Job> refused;
        if (moves) refused = std::move(job_);
        try {
            job_ = std::make_unique<Job>(plan_job(options_, restart_));
        } catch (const std::exception& error) {
            // No other hosts: the refusal has been printed.
            if (!moves) fmt::print(stderr, "torus-run: {}\n", error.what());
            return false;
        }
        // The hosts that are left must be as many, with as many ranks.
        if (moves &&
            (job_->hosts.size() != refused->hosts.size() || job_->size() != refused->size()))
            return false;
        if (job_->timeout.count() > 0)
            job_->timeout = std::max(
                std::chrono::milliseconds(1),
                job_->timeout -
                    std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_));
        if (moves)
            fmt::print(stderr, "torus-run: the job starts on other hosts: {}\n",
                       describe_placement(*refused, *job_));
        else
            fmt::print(stderr, "torus-run: restart {} of {}: {}\n", restart_.number,
                       options_.restarts, describe_placement(*last_, *job_));
        if (options_.display_map) fmt::print("{}", describe_map(*job_));
        std::fflush(stdout);
        return true;
    }

    const Options& options_;
    std::unique_ptr<Job> job_;
    std::unique_ptr<Job> last_;  // the job that started last
    int code_ = exit_failure;    // its exit code
    Restart restart_;
    const RepeatedInput input_;
    const Clock::time_point began_ = Clock::now();
};

}  // namespace

int run_with_restarts(const Options& options, Job job) {
    return Restarts(options, std::move(job)).run();
}

}  // namespace torusmp::torus_run
