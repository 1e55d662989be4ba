// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/hosts.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.h"
#include "launch/settings.h"
#include "programs/reach/reach.h"
#include "programs/torus_setup/own_host.h"

namespace torusmp::torus_setup {

namespace {

using Clock = std::chrono::steady_clock;

// sudo must not ask, since its prompt is not read. It removes SSH_CONNECTION, so that is an
// argument.
constexpr const char* as_root =
    "[ \"$(id -u)\" = 0 ] && exec sh -s \"$SSH_CONNECTION\"; "
    "exec sudo -n sh -s \"$SSH_CONNECTION\"";
// Where only the torus joins the hosts, this connection goes over a cable.
constexpr const char* as_root_over_cables =
    "[ \"$(id -u)\" = 0 ] && exec sh -s '' cables; exec sudo -n sh -s '' cables";
constexpr std::size_t longest_output = std::size_t(16) << 20;

class Crew final : private reach::Reach::Listener {
  public:
    Crew(const config::Settings& settings, const std::vector<std::string>& hosts,
         const Ended& ended)
        : agent_(settings[launch::setting::agent]),
          over_cables_(settings[launch::setting::through] == launch::Through::torus),
          hosts_(hosts),
          ended_(ended),
          replies_(hosts.size()),
          output_(hosts.size()),
          done_(hosts.size(), false),
          running_(hosts.size()) {}

    std::vector<std::string> command() const {
        return {"sh", "-c", over_cables_ ? as_root_over_cables : as_root};
    }

    std::vector<Reply> run(reach::Reach& reach, const std::vector<std::string>& calls,
                           std::chrono::milliseconds timeout) {
        const auto end = Clock::now() + timeout;
        reach.start(*this);
        for (std::size_t host = 0; host < hosts_.size(); ++host)
            if (!done_[host])
                reach.send(int(host), fmt::format("main() {{\n{}\n{}\nsay end\n}}\nmain \"$@\"\n"
                                                  "exit 0\n",
                                                  host_script, calls[host]));
        while (running_ > 0) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
            if (left.count() <= 0) break;
            reach.serve(left);
        }
        for (std::size_t host = 0; host < hosts_.size(); ++host)
            if (!done_[host])
                finish(host, fmt::format("{}: no answer within {} s. Is the host up, and does its "
                                         "agent answer? Try again, or with a longer --timeout",
                                         hosts_[host], timeout.count() / 1000));
        return std::move(replies_);
    }

  private:
    void said(int host, std::string_view text) override {
        std::string& output = output_[std::size_t(host)];
        if (output.size() < longest_output) output += text;
    }

    void lost(int node, const std::string& why) override {
        const std::size_t host(node);
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
        if (over_cables_) return finish(host, fmt::format("{}: {}", hosts_[host], why));
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

    const std::string agent_;
    const bool over_cables_;
    const std::vector<std::string>& hosts_;
    const Ended& ended_;
    std::vector<Reply> replies_;
    std::vector<std::string> output_;
    std::vector<bool> done_;
    std::size_t running_;
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
            return fmt::format("{}: {} ({})", host, fmt::format(fmt::runtime(known.advice), host),
                               why);
    return fmt::format("{}: {}. Try \"{} {} true\"", host, why, agent, host);
}

std::vector<Reply> run_on_hosts(const config::Settings& settings,
                                const std::optional<std::string>& here,
                                const std::vector<std::string>& hosts,
                                const std::vector<std::string>& calls,
                                std::chrono::milliseconds timeout, const Ended& ended) {
    Crew crew(settings, hosts, ended);
    reach::Plan plan{hosts, crew.command(), {}, beside_this("torus-run"), false};
    if (settings[launch::setting::through] == launch::Through::torus)
        plan.here = reach::own_place(hosts, here);
    const auto reach = reach::reach_hosts(settings, std::move(plan));
    return crew.run(*reach, calls, timeout);
}

}  // namespace torusmp::torus_setup
