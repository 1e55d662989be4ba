#include "programs/torus_run/daemon/rank_start.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "launch/environment.h"

namespace torusmp::launch {
namespace {

unsigned long long inode_of(int fd) {
    struct stat info {};
    fstat(fd, &info);
    return info.st_ino;
}

}  // namespace

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> list;
    list.reserve(strings.size() + 1);
    for (std::string& string : strings) list.push_back(string.data());
    list.push_back(nullptr);
    return list;
}

void inherit(std::vector<std::string>& environment, const std::vector<std::string>& job) {
    const auto name_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
    const std::vector<std::string> own = environment;
    for (const std::string& variable : job)
        if (std::none_of(own.begin(), own.end(), [&](const std::string& other) {
                return name_of(other) == name_of(variable);
            }))
            environment.push_back(variable);
}

void add_identity(std::vector<std::string>& environment, const HostJob& job, int rank,
                  std::size_t local_rank, const Inherited& inherited) {
    environment.push_back(fmt::format("{}={}:{}:{}:{}:{}", env_bootstrap, inherited.control,
                                      inode_of(inherited.control), inherited.notices,
                                      inode_of(inherited.notices), inherited.lifeline));
    environment.push_back(fmt::format("{}={}", env_rank, rank));
    environment.push_back(fmt::format("{}={}", env_size, job.size));
    environment.push_back(fmt::format("{}={}", env_local_rank, local_rank));
    environment.push_back(fmt::format("{}={}", env_program, job.program_of(rank)));
}

SharedBytes welcome(const HostJob& job, int rank) {
    auto bytes = std::make_shared<std::vector<std::byte>>(sizeof(Welcome) +
                                                          job.ranks.size() * sizeof(std::int32_t));
    Welcome welcome{protocol_version, rank, job.size, std::uint32_t(job.ranks.size()), {},
                    job.keep_going,   0};
    std::copy(job.secret.begin(), job.secret.end(), std::begin(welcome.secret));
    std::memcpy(bytes->data(), &welcome, sizeof welcome);
    for (std::size_t i = 0; i < job.ranks.size(); ++i) {
        const std::int32_t local = job.ranks[i];
        std::memcpy(bytes->data() + sizeof welcome + i * sizeof local, &local, sizeof local);
    }
    return bytes;
}

}  // namespace torusmp::launch
