// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/hosts.h"

#include <fmt/format.h>

#include <array>
#include <memory>

#include "base/text.h"
#include "launch/agent.h"
#include "programs/torus_run/streams/loop.h"
#include "programs/torus_run/streams/piped_program.h"

namespace torusmp::torus_setup {

namespace {

// sudo must not ask, since its prompt is not read. It removes SSH_CONNECTION, so that is an
// argument.
constexpr const char* as_root =
    "[ \"$(id -u)\" = 0 ] && exec sh -s \"$SSH_CONNECTION\"; "
    "exec sudo -n sh -s \"$SSH_CONNECTION\"";
constexpr std::size_t longest_output = std::size_t(16) << 20;

class Crew {
  public:
    Crew(const std::string& agent, const std::vector<std::string>& hosts, const Ended& ended)
        : agent_(agent),
          hosts_(hosts),
          ended_(ended),
          replies_(hosts.size()),
          output_(hosts.size()) {}

    std::vector<Reply> run(const std::vector<std::string>& calls,
                           std::chrono::milliseconds timeout) {
        running_ = hosts_.size();
        done_.assign(hosts_.size(), false);
        for (std::size_t host = 0; host < hosts_.size(); ++host) start(host, calls[host]);
        const auto end = std::chrono::steady_clock::now() + timeout;
        while (running_ > 0) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) break;
            loop_.step(int(left.count()), [] {});
        }
        for (std::size_t host = 0; host < hosts_.size(); ++host)
            if (!done_[host])
                finish(host, fmt::format("{}: no answer within {} s. Is the host up, and does its "
                                         "agent answer? Try again, or with a longer --timeout",
                                         hosts_[host], timeout.count() / 1000));
        return std::move(replies_);
    }

  private:
    void start(std::size_t host, const std::string& calls) {
        try {
            programs_.push_back(std::make_unique<torus_run::PipedProgram>(
                launch::agent_command(agent_, hosts_[host], {"sh", "-c", as_root}), loop_,
                [this, host](std::string_view text) {
                    if (output_[host].size() < longest_output) output_[host] += text;
                },
                [this, host](const std::string& why) { hear_end(host, why); }));
            programs_.back()->send(fmt::format(
                "main() {{\n{}\n{}\nsay end\n}}\nmain \"$@\"\nexit 0\n", host_script, calls));
        } catch (const launch::AgentError& error) {
            finish(host, fmt::format("{}: {}", hosts_[host], error.what()));
        }
    }

    void hear_end(std::size_t host, const std::string& why) {
        std::vector<std::string>& lines = replies_[host].lines;
        std::string failure;
        std::size_t begin = 0;
        for (std::size_t end; (end = output_[host].find('\n', begin)) != std::string::npos;
             begin = end + 1) {
            // A login shell may print lines of its own.
            std::string line = output_[host].substr(begin, end - begin);
            if (!line.starts_with("@ ")) continue;
            line.erase(0, 2);
            if (line.starts_with("failed ")) failure = line.substr(7);
            lines.push_back(std::move(line));
        }
        if (!lines.empty() && lines.back() == "end") {
            lines.pop_back();
            return finish(host, {});
        }
        if (!failure.empty())
            return finish(host, fmt::format("{}: {}", hosts_[host], base::printable(failure, 300)));
        replies_[host].no_key = why.find("Permission denied (") != std::string::npos ||
                                why.find("Host key verification failed") != std::string::npos;
        finish(host, advise(hosts_[host], agent_, why));
    }

    void finish(std::size_t host, const std::string& trouble) {
        replies_[host].trouble = trouble;
        done_[host] = true;
        --running_;
        ended_(host, replies_[host]);
    }

    const std::string& agent_;
    const std::vector<std::string>& hosts_;
    const Ended& ended_;
    torus_run::Loop loop_;
    std::vector<std::unique_ptr<torus_run::PipedProgram>> programs_;
    std::vector<Reply> replies_;
    std::vector<std::string> output_;
    std::vector<bool> done_;
    std::size_t running_ = 0;
};

struct Advice {
    std::string_view said, advice;  // "{0}" is the host
};

constexpr std::array advices{
    Advice{"Permission denied",
           "ssh has no key for it. Run \"ssh-copy-id {0}\" (after \"ssh-keygen\" if you have "
           "no key), and try again"},
    Advice{
        "Host key verification failed",
        "its key is not known here. Run \"ssh {0} true\" once and accept the key, and try again"},
    Advice{"Could not resolve",
           "its name is unknown. Give its address, or add the name to /etc/hosts"},
    Advice{"a password is required",
           "sudo asks for a password. Connect as root (--agent \"ssh -l root\"), or "
           "allow sudo without a password there"},
    Advice{"sudo: not found", "torus-setup needs root. Connect as root: --agent \"ssh -l root\""},
    Advice{"Read-only file system",
           "it cannot keep settings. Make /etc and /var/lib writable there, and try again"},
    Advice{"No space left on device", "its disk is full. Free some space there, and try again"},
    Advice{"Connection refused", "no sshd answers. Install and start openssh-server there"},
    Advice{"No route to host", "it does not answer. Check its power and its network"},
    Advice{"timed out", "it does not answer. Check its power and its network"},
};

}  // namespace

std::string advise(const std::string& host, const std::string& agent, const std::string& why) {
    for (const Advice& known : advices)
        if (why.find(known.said) != std::string::npos)
            return fmt::format("{}: {} (the agent {})", host,
                               fmt::format(fmt::runtime(known.advice), host), why);
    return fmt::format("{}: the agent {}. Try \"{} {} true\"", host, why, agent, host);
}

std::vector<Reply> run_on_hosts(const std::string& agent, const std::vector<std::string>& hosts,
                                const std::vector<std::string>& calls,
                                std::chrono::milliseconds timeout, const Ended& ended) {
    return Crew(agent, hosts, ended).run(calls, timeout);
}

}  // namespace torusmp::torus_setup
