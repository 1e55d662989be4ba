// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/streams/neighbours.h"

#include <poll.h>
#include <unistd.h>

#include <sstream>

#include "config/network.h"
#include "launch/agent.h"
#include "programs/torus_run/streams/link_address.h"

namespace torusmp::torus_run {
namespace {

using Clock = std::chrono::steady_clock;

// The agent that asks the host at an address for its name.
struct Question {
    std::string address;
    launch::AgentProcess agent;
    std::string answer;

    bool open() { return bool(agent.output()); }
    void read() {
        char piece[1024];
        const ssize_t n = ::read(agent.output().get(), piece, sizeof piece);
        if (n > 0) answer.append(piece, std::size_t(n));
        if (n == 0) agent.output().reset();
    }
};

void hear(std::vector<Question>& questions, std::chrono::milliseconds timeout) {
    const auto end = Clock::now() + timeout;
    for (;;) {
        std::vector<pollfd> ready;
        std::vector<Question*> asked;
        for (Question& question : questions)
            if (question.open()) {
                ready.push_back({question.agent.output().get(), POLLIN, 0});
                asked.push_back(&question);
            }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
        if (ready.empty() || left.count() <= 0) return;
        poll(ready.data(), ready.size(), int(left.count()));
        for (std::size_t i = 0; i < ready.size(); ++i)
            if (ready[i].revents != 0) asked[i]->read();
    }
}

}  // namespace

std::map<int, std::string> find_neighbours(const std::vector<std::string>& hosts,
                                           const std::string& agent,
                                           std::chrono::milliseconds timeout) {
    std::vector<Question> questions;
    for (const std::string& address : addresses_on_links(timeout))
        questions.push_back(
            {address,
             launch::AgentProcess(launch::agent_command(agent, address, {"uname", "-n"}, address)),
             {}});
    hear(questions, timeout);
    std::map<int, std::string> found;
    for (const Question& question : questions) {
        // Output of a login script may precede the name.
        std::istringstream lines(question.answer);
        for (std::string line; std::getline(lines, line);)
            if (const auto node = config::find_host(hosts, line))
                found.emplace(*node, question.address);
    }
    return found;
}

}  // namespace torusmp::torus_run
