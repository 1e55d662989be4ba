// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_setup/keys.h"

#include <cstdlib>
#include <filesystem>

#include "launch/agent.h"

namespace torusmp::torus_setup {

namespace {

namespace fs = std::filesystem;

bool has_key() {
    const char* home = std::getenv("HOME");
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(home ? home : "/") / ".ssh", error))
        if (const std::string name = entry.path().filename();
            name.starts_with("id") && name.ends_with(".pub"))
            return true;
    return std::system("ssh-add -L >/dev/null 2>&1") == 0;
}

// ssh-copy-id knows the options of ssh but for the name of the user.
std::vector<std::string> copy_key(std::vector<std::string> ssh, const std::string& host) {
    std::string user;
    for (std::size_t i = 1; i + 1 < ssh.size(); ++i)
        if (ssh[i] == "-l") {
            user = ssh[i + 1] + "@";
            ssh.erase(ssh.begin() + std::ptrdiff_t(i), ssh.begin() + std::ptrdiff_t(i) + 2);
            break;
        }
    ssh.front() = "ssh-copy-id";
    ssh.push_back(user + host);
    return ssh;
}

}  // namespace

std::vector<std::vector<std::string>> commands_for_keys(const std::string& agent,
                                                        const std::vector<std::string>& hosts,
                                                        const std::vector<Reply>& replies) {
    const std::vector<std::string> ssh = launch::split_words(agent);
    if (fs::path(ssh.front()).filename() != "ssh") return {};
    std::vector<std::vector<std::string>> commands;
    if (!has_key()) commands.push_back({"ssh-keygen"});
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (replies[i].trouble.empty()) continue;
        if (!replies[i].no_key) return {};
        commands.push_back(copy_key(ssh, hosts[i]));
    }
    return commands;
}

}  // namespace torusmp::torus_setup
