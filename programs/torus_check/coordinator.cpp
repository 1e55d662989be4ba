#include "programs/torus_check/coordinator.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "config/raw.h"
#include "core/transport/machine.h"
#include "launch/agent.h"
#include "programs/torus_run/streams/text.h"

namespace torusmp::check {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_line = std::size_t(1) << 16;
constexpr std::size_t longest_error = 4096;
constexpr int most_noise = 200;  // lines that a login shell may print before the probe speaks

// One host, and how far it has got.
class Worker {
  public:
    enum class Stage { greeting, facts, ready, sent, reported };

    Worker(const SurveyPlan& plan, std::size_t node)
        : host_(plan.hosts[node]), nodes_(int(plan.hosts.size())) {
        try {
            agent_.emplace(launch::agent_command(plan.agent, host_, {plan.program, "--probe"}));
        } catch (const launch::AgentError& error) {
            give_up(error.what());
            return;
        }
        order(format_job(plan.jobs[node]));
    }

    bool lost() const { return !result_.trouble.empty(); }
    bool reached(Stage stage) const { return lost() || stage_ >= stage; }
    // Nothing more can come from it.
    bool idle() const { return !agent_.has_value(); }

    void order(const std::string& text) {
        if (lost()) return;
        unsent_ += text;
        write_orders();
    }

    void add_polls(std::vector<pollfd>& polls) {
        if (idle()) return;
        polls.push_back({agent_->output().get(), POLLIN, 0});
        polls.push_back({agent_->errors().get(), POLLIN, 0});
        if (!unsent_.empty()) polls.push_back({agent_->input().get(), POLLOUT, 0});
    }

    // Does whatever can be done without waiting.
    void act() {
        if (idle()) return;
        write_orders();
        read_errors();
        read_output();
    }

    void give_up(const std::string& why) {
        if (stage_ != Stage::reported) result_.trouble = why;
        agent_.reset();
    }

    HostResult take_result() { return std::move(result_); }

  private:
    void write_orders() {
        while (!unsent_.empty() && agent_) {
            const ssize_t put = ::write(agent_->input().get(), unsent_.data(), unsent_.size());
            if (put < 0) break;  // not now, or never: then its output ends
            unsent_.erase(0, std::size_t(put));
        }
    }

    void read_errors() {
        char bytes[4096];
        for (;;) {
            const ssize_t got = ::read(agent_->errors().get(), bytes, sizeof bytes);
            if (got <= 0) break;
            errors_.append(bytes, std::size_t(got));
            if (errors_.size() > longest_error) errors_.erase(0, errors_.size() - longest_error);
        }
    }

    void read_output() {
        char bytes[16384];
        for (;;) {
            const ssize_t got = ::read(agent_->output().get(), bytes, sizeof bytes);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return;
            if (got == 0) return ended();
            output_.append(bytes, std::size_t(got));
            if (!take_lines()) return;
        }
    }

    // False once this worker is done with.
    bool take_lines() {
        for (std::size_t end; (end = output_.find('\n')) != std::string::npos;) {
            const std::string line = output_.substr(0, end);
            output_.erase(0, end + 1);
            try {
                take_line(line);
            } catch (const std::exception& error) {
                give_up(fmt::format("what its probe says cannot be understood: {}", error.what()));
            }
            if (idle()) return false;
        }
        if (output_.size() > longest_line) give_up("what its probe says has no end of line");
        return !idle();
    }

    void take_line(const std::string& line) {
        switch (stage_) {
            case Stage::greeting:
                return take_greeting(line);
            case Stage::facts:
                return take_facts(line);
            case Stage::ready:
                if (line != "sending-done") throw ProtocolError(base::printable(line));
                stage_ = Stage::sent;
                return;
            case Stage::sent:
                if (!parse_report_line(line, nodes_, result_.report)) return;
                stage_ = Stage::reported;
                agent_.reset();
                return;
            case Stage::reported:
                return;
        }
    }

    void take_greeting(const std::string& line) {
        const std::string expected = fmt::format("{} {}", hello_word, TORUSMP_VERSION);
        if (line == expected)
            stage_ = Stage::facts;
        else if (line.starts_with(hello_word))
            give_up(fmt::format("it runs another version: found \"{}\", expected \"{}\"",
                                base::printable(line), expected));
        else if (++noise_ > most_noise)
            give_up(fmt::format("what answers there is no torus-check: it said \"{}\"",
                                base::printable(line)));
    }

    void take_facts(const std::string& line) {
        if (line == "ready" && facts_complete_) {
            stage_ = Stage::ready;
            return;
        }
        if (facts_.size() > (std::size_t(64) << 20)) throw ProtocolError("the facts have no end");
        facts_ += line + "\n";
        if (!line.starts_with("end ")) return;
        result_.facts = transport::parse_facts(facts_);
        facts_complete_ = true;
    }

    void ended() {
        std::string said = errors_;
        std::replace(said.begin(), said.end(), '\n', ' ');
        while (!said.empty() && said.back() == ' ') said.pop_back();
        // The agent may outlive its output for a moment.
        pollfd process{agent_->process(), POLLIN, 0};
        ::poll(&process, 1, 1000);
        const auto status = agent_->end();
        give_up(fmt::format("the agent {}{}",
                            status ? launch::describe_end(*status) : "closed its output",
                            said.empty() ? "" : ": " + base::printable(said, 300)));
    }

    std::string host_;
    int nodes_;
    std::optional<launch::AgentProcess> agent_;
    Stage stage_ = Stage::greeting;
    std::string unsent_, output_, errors_, facts_;
    bool facts_complete_ = false;
    int noise_ = 0;
    HostResult result_;
};

class Coordinator {
  public:
    Coordinator(const SurveyPlan& plan, const Progress& progress)
        : plan_(plan), progress_(progress) {}

    std::vector<HostResult> run() {
        workers_.reserve(plan_.hosts.size());
        for (std::size_t node = 0; node < plan_.hosts.size(); ++node) {
            workers_.emplace_back(plan_, node);
            serve(std::chrono::milliseconds(0));
            progress_("starting", node + 1, plan_.hosts.size(), {});
        }
        await(Worker::Stage::ready, "asking hosts", "it did not answer");
        order("send\n");
        await(Worker::Stage::sent, "testing cables", "it did not finish sending");
        rest(plan_.wait);
        order("report\n");
        await(Worker::Stage::reported, "collecting", "it did not report");
        std::vector<HostResult> results;
        for (Worker& worker : workers_) results.push_back(worker.take_result());
        return results;
    }

  private:
    void order(const std::string& text) {
        for (Worker& worker : workers_) worker.order(text);
    }

    void serve(std::chrono::milliseconds wait) {
        std::vector<pollfd> polls;
        for (Worker& worker : workers_) worker.add_polls(polls);
        if (::poll(polls.data(), polls.size(), int(wait.count())) < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
        for (Worker& worker : workers_) worker.act();
    }

    // Counts only time in which this program ran: if it was stopped, or starved by a busy host, it
    // has not been kept waiting.
    void await(Worker::Stage stage, const char* what, const char* failure) {
        constexpr auto slice = std::chrono::milliseconds(100);
        constexpr auto soon = std::chrono::seconds(3);
        auto left = std::chrono::duration_cast<Clock::duration>(plan_.timeout);
        for (;;) {
            const auto done = std::size_t(
                std::count_if(workers_.begin(), workers_.end(),
                              [&](const Worker& worker) { return worker.reached(stage); }));
            const bool late = plan_.timeout - left >= soon;
            progress_(what, done, workers_.size(), late ? missing(stage) : std::string());
            if (done == workers_.size()) return;
            if (left <= Clock::duration::zero()) break;
            const auto before = Clock::now();
            serve(slice);
            left -= std::min<Clock::duration>(Clock::now() - before, 2 * slice);
        }
        for (Worker& worker : workers_)
            if (!worker.reached(stage))
                worker.give_up(
                    fmt::format("{} in {} s", failure, double(plan_.timeout.count()) / 1000));
    }

    std::string missing(Worker::Stage stage) const {
        constexpr std::size_t most = 8;
        std::vector<std::string> names;
        for (std::size_t node = 0; node < workers_.size(); ++node)
            if (!workers_[node].reached(stage)) names.push_back(plan_.hosts[node]);
        const std::size_t shown = std::min(most, names.size());
        return fmt::format("{}{}",
                           fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "),
                           shown < names.size() ? ", ..." : "");
    }

    void rest(std::chrono::milliseconds time) {
        const auto end = Clock::now() + time;
        for (auto now = Clock::now(); now < end; now = Clock::now())
            serve(std::chrono::ceil<std::chrono::milliseconds>(end - now));
    }

    const SurveyPlan& plan_;
    const Progress& progress_;
    std::vector<Worker> workers_;
};

}  // namespace

std::vector<HostResult> question_hosts(const SurveyPlan& plan, const Progress& progress) {
    return Coordinator(plan, progress).run();
}

}  // namespace torusmp::check
