// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_top/admission.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/descriptor.h"

namespace torusmp::torus_top {
namespace {

constexpr std::size_t shortest_token = 16, longest_token = 256;

// Accepts "" and ":8080".
bool is_port(std::string_view text) {
    if (text.empty()) return true;
    return text.size() >= 2 && text.size() <= 6 && text[0] == ':' &&
           std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void refuse(const std::string& file, std::string_view why) {
    throw std::runtime_error(fmt::format("--token {}: {}", file, why));
}

std::string checked(const std::string& file, std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    const bool letters = std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_';
    });
    if (!letters || text.size() < shortest_token || text.size() > longest_token)
        refuse(file, fmt::format("found no token there (expected {} to {} letters and digits)",
                                 shortest_token, longest_token));
    return text;
}

}  // namespace

bool names_this_host(std::string_view host, std::string_view bound) {
    const bool six = host.starts_with('[');
    const std::size_t end = six ? host.find(']') : host.find(':');
    const std::size_t length = end == host.npos ? host.size() : end + std::size_t(six);
    if (!is_port(host.substr(length))) return false;
    const std::string name(host.substr(0, length));
    if (name.find('\0') != name.npos) return false;
    in_addr four{};
    if (inet_pton(AF_INET, name.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127)
        return true;
    return strcasecmp(name.c_str(), "localhost") == 0 || name == "[::1]" || name == bound ||
           name == fmt::format("[{}]", bound);
}

bool same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    volatile unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
    return difference == 0;
}

std::string random_token() {
    std::array<unsigned char, 16> bytes{};
    if (getrandom(bytes.data(), bytes.size(), 0) != ssize_t(bytes.size()))
        throw std::runtime_error(fmt::format("getrandom: {}", std::strerror(errno)));
    return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string token_in(const std::string& file) {
    const base::Descriptor made(
        open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (made) {
        const std::string token = random_token();
        const std::string line = token + "\n";
        if (write(made.get(), line.data(), line.size()) != ssize_t(line.size()))
            refuse(file, std::strerror(errno));
        return token;
    }
    if (errno != EEXIST) refuse(file, std::strerror(errno));
    const base::Descriptor found(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!found) refuse(file, std::strerror(errno));
    struct stat info {};
    if (fstat(found.get(), &info) != 0) refuse(file, std::strerror(errno));
    if ((info.st_mode & S_IRWXO) != 0)
        refuse(file, fmt::format("every user may read it (chmod o= {})", file));
    char text[longest_token + 3];
    const ssize_t n = read(found.get(), text, sizeof text);
    if (n < 0) refuse(file, std::strerror(errno));
    return checked(file, std::string(text, std::size_t(n)));
}

Streams::Ticket::Ticket(Streams& streams, std::string client)
    : streams_(streams), client_(std::move(client)) {}

Streams::Ticket::~Ticket() {
    const std::lock_guard lock(streams_.mutex_);
    --streams_.all_;
    const auto found = streams_.by_client_.find(client_);
    if (--found->second == 0) streams_.by_client_.erase(found);
}

std::shared_ptr<Streams::Ticket> Streams::open(const std::string& client) {
    const std::lock_guard lock(mutex_);
    const auto found = by_client_.find(client);
    if (all_ >= most || (found != by_client_.end() && found->second >= most_of_one_client))
        return nullptr;
    auto ticket = std::make_shared<Ticket>(*this, client);
    ++all_;
    ++by_client_[client];
    return ticket;
}

}  // namespace torusmp::torus_top
