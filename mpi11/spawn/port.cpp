// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/port.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/packing.h"
#include "launch/implementations.h"

namespace torusmp::mpi {
namespace {

constexpr std::string_view prefix = "torusmp-port:";
constexpr std::size_t longest = 16U << 20;
constexpr std::size_t secret_digits = 2 * launch::secret_bytes;
// A caller that does not introduce itself within this time is dropped.
constexpr std::chrono::seconds patience{5};
constexpr std::size_t most_waiting = 64;

std::string random_digits() {
    std::string digits;
    for (const std::byte it : launch::random_secret())
        digits += fmt::format("{:02x}", unsigned(it));
    return digits;
}

bool same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned differs = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differs |= unsigned(a[i] ^ b[i]);
    return differs == 0;
}

bool is_same_user(int socket) {
    ucred who{};
    socklen_t size = sizeof who;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

// Abstract: nothing is left behind. `place` is not secret: the kernel lists it.
struct Address {
    sockaddr_un address{};
    socklen_t length = 0;

    explicit Address(std::string_view place) {
        const std::string name = fmt::format("{}{}", prefix, place);
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        length = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

std::string packed(base::Packer& packer) {
    const auto bytes = packer.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

base::Unpacker unpacker_of(const std::string& text) {
    return base::Unpacker(std::as_bytes(std::span(text)));
}

[[noreturn]] void damaged() {
    throw std::runtime_error("the other side says what no torusmp says");
}

}  // namespace

void SocketTalk::say(const std::string& text) {
    const auto length = std::uint32_t(text.size());
    std::string all(reinterpret_cast<const char*>(&length), sizeof length);
    all += text;
    for (std::string_view rest = all; !rest.empty();) {
        const ssize_t n = send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw std::runtime_error(has_left);
        rest.remove_prefix(std::size_t(n));
    }
}

// Reads to the end of the message and no further: what follows may be the program's
// (MPI_Comm_join).
std::optional<std::string> SocketTalk::hear() {
    std::uint32_t length = 0;
    for (;;) {
        std::size_t whole = sizeof length;
        if (heard_.size() >= sizeof length) {
            std::memcpy(&length, heard_.data(), sizeof length);
            if (length > longest) damaged();
            whole += length;
            if (heard_.size() == whole) {
                std::string text = heard_.substr(sizeof length);
                heard_.clear();
                return text;
            }
        }
        char piece[4096];
        const std::size_t wanted = std::min(whole - heard_.size(), sizeof piece);
        const ssize_t n = recv(socket_.get(), piece, wanted, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return std::nullopt;
        if (n <= 0) throw std::runtime_error(has_left);
        heard_.append(piece, std::size_t(n));
    }
}

void Talk::introduce(const std::string& secret, const Introduction& introduction) {
    base::Packer packer;
    packer.add(std::string_view(secret)).add(introduction.hosts);
    say(packed(packer));
}

void Talk::invite(const Invitation& invitation) {
    base::Packer packer;
    packer.add(std::string_view(invitation.meeting)).add(std::string_view(invitation.why));
    packer.add(std::int32_t(invitation.first_side));
    say(packed(packer));
}

void Talk::conclude() {
    say(concluded);
}

Introduction introduction_of(const std::string& text, const std::string& secret) {
    try {
        base::Unpacker unpacker = unpacker_of(text);
        if (!same_secret(unpacker.text(), secret)) damaged();
        return {unpacker.texts()};
    } catch (const base::PackingError&) {
        damaged();
    }
}

Invitation invitation_of(const std::string& text) {
    try {
        base::Unpacker unpacker = unpacker_of(text);
        Invitation invitation;
        invitation.meeting = unpacker.text();
        invitation.why = unpacker.text();
        invitation.first_side = unpacker.get<std::int32_t>();
        return invitation;
    } catch (const base::PackingError&) {
        damaged();
    }
}

Port::Port()
    : secret_(random_digits()),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const std::string place = random_digits().substr(0, 16);
    const Address address(place);
    if (!listener_ || bind(listener_.get(), address.get(), address.length) != 0 ||
        listen(listener_.get(), 64) != 0)
        throw std::runtime_error(fmt::format("cannot listen: {}", std::strerror(errno)));
    name_ = fmt::format("{}{}:{}", prefix, place, secret_);
}

std::optional<Port::Caller> Port::next() {
    const auto now = std::chrono::steady_clock::now();
    for (;;) {
        base::Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!caller) break;
        if (is_same_user(caller.get()) && waiting_.size() < most_waiting)
            waiting_.push_back({SocketTalk(std::move(caller)), now + patience});
    }
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        try {
            if (const auto text = it->talk.hear()) {
                Caller caller{{}, introduction_of(*text, secret_)};
                caller.talk = std::move(it->talk);
                waiting_.erase(it);
                return caller;
            }
            if (now < it->until) {
                ++it;
                continue;
            }
        } catch (const std::runtime_error&) {
            // Not one of us.
        }
        it = waiting_.erase(it);
    }
    return std::nullopt;
}

SocketTalk call_port(const std::string& name, const Introduction& introduction) {
    const auto colon = name.rfind(':');
    if (!std::string_view(name).starts_with(prefix) || colon < prefix.size() ||
        colon - prefix.size() > 64 || name.size() - colon - 1 != secret_digits)
        throw std::runtime_error(
            "this is not the name of a port: expected what MPI_Open_port has returned");
    const Address address(std::string_view(name).substr(prefix.size(), colon - prefix.size()));
    base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || connect(socket.get(), address.get(), address.length) != 0)
        throw std::runtime_error(
            errno == ECONNREFUSED
                ? std::string("no process of this host has this port open (the root must be on the "
                              "host of the process that has opened it)")
                : fmt::format("cannot connect to the port: {}", std::strerror(errno)));
    if (!is_same_user(socket.get())) throw std::runtime_error("the port belongs to another user");
    SocketTalk talk(std::move(socket));
    talk.introduce(name.substr(colon + 1), introduction);
    return talk;
}

// ---- names ----

namespace {

// Files in a folder to which only this user can write.
std::string names_folder() {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    std::string folder = runtime != nullptr && *runtime == '/'
                             ? fmt::format("{}/torusmp", runtime)
                             : fmt::format("/tmp/torusmp-{}", geteuid());
    for (int level = 0; level < 2; ++level) {
        if (level == 1) folder += "/names";
        struct stat info {};
        if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            throw std::runtime_error(
                fmt::format("cannot create {}: {}", folder, std::strerror(errno)));
        if (lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
            info.st_uid != geteuid() || (info.st_mode & 022) != 0)
            throw std::runtime_error(
                fmt::format("{} is not a folder to which only this user can write", folder));
    }
    return folder;
}

std::string path_of(const std::string& service) {
    std::string name;
    for (const char c : service)
        name += fmt::format("{:02x}", unsigned(static_cast<unsigned char>(c)));
    if (name.size() > 240)
        throw std::runtime_error("the service name is longer than 120 characters");
    return fmt::format("{}/{}", names_folder(), name);
}

bool is_open(const std::string& port) {
    const auto colon = port.rfind(':');
    if (colon == std::string::npos || colon < prefix.size()) return false;
    const Address address(std::string_view(port).substr(prefix.size(), colon - prefix.size()));
    const base::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return socket && connect(socket.get(), address.get(), address.length) == 0;
}

}  // namespace

std::optional<std::string> look_up(const std::string& service) {
    const std::string path = path_of(service);
    const base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return std::nullopt;
    std::string port(1024, '\0');
    const ssize_t n = read(file.get(), port.data(), port.size());
    port.resize(n > 0 ? std::size_t(n) : 0);
    // A process that was killed has left its name. Programs may publish any text.
    if (!std::string_view(port).starts_with(prefix) || is_open(port)) return port;
    unlink(path.c_str());
    return std::nullopt;
}

// The name appears with its whole content: others may look it up at any time.
bool publish(const std::string& service, const std::string& port) {
    if (look_up(service)) return false;
    const std::string path = path_of(service);
    std::string draft = names_folder() + "/draft-XXXXXX";
    const base::Descriptor file(mkostemp(draft.data(), O_CLOEXEC));
    const bool written =
        file && write(file.get(), port.data(), port.size()) == ssize_t(port.size());
    const int linked = written ? link(draft.c_str(), path.c_str()) : -1;
    const int error = errno;
    if (file) unlink(draft.c_str());
    if (linked != 0 && error != EEXIST)
        throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(error)));
    return linked == 0;
}

bool unpublish(const std::string& service, const std::string& port) {
    return look_up(service) == port && unlink(path_of(service).c_str()) == 0;
}

}  // namespace torusmp::mpi
