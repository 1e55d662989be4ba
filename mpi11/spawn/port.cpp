// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/port.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/packing.h"
#include "launch/environment.h"
#include "launch/meeting_socket.h"

namespace torusmp::mpi {
namespace {

constexpr std::string_view prefix = "torusmp-port:";
// A message of either side: the hosts of all processes at most.
constexpr std::size_t longest = 4U << 20;
constexpr std::size_t place_digits = 16, secret_digits = 2 * launch::secret_bytes;
// A caller that does not introduce itself within this time is dropped.
constexpr std::chrono::seconds patience{5};
constexpr std::size_t most_waiting = 64;

bool same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned differs = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differs |= unsigned(a[i] ^ b[i]);
    return differs == 0;
}

// "torusmp-port:PLACE:SECRET". The place is not secret: the kernel lists it.
struct PortName {
    std::string_view socket;  // "torusmp-port:PLACE"
    std::string_view secret;
};
std::optional<PortName> read_port_name(std::string_view name) {
    constexpr std::size_t colon = prefix.size() + place_digits;
    if (name.size() != colon + 1 + secret_digits || !name.starts_with(prefix) || name[colon] != ':')
        return std::nullopt;
    return PortName{name.substr(0, colon), name.substr(colon + 1)};
}

std::string packed(base::Packer& packer) {
    const auto bytes = packer.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

base::Unpacker unpacker_of(const std::string& text) {
    return base::Unpacker(std::as_bytes(std::span(text)));
}

[[noreturn]] void damaged() {
    throw std::runtime_error("the other side does not keep the protocol of torusmp");
}

}  // namespace

void SocketTalk::send(const std::string& text) {
    const auto length = std::uint32_t(text.size());
    std::string all(reinterpret_cast<const char*>(&length), sizeof length);
    all += text;
    if (!launch::send_all(socket_, all)) throw std::runtime_error(has_left);
}

// Reads to the end of the message and no further: what follows may be the program's
// (MPI_Comm_join).
std::optional<std::string> SocketTalk::receive() {
    std::uint32_t length = 0;
    for (;;) {
        std::size_t whole = sizeof length;
        if (received_.size() >= sizeof length) {
            std::memcpy(&length, received_.data(), sizeof length);
            if (length > longest) damaged();
            whole += length;
            if (received_.size() == whole) {
                std::string text = received_.substr(sizeof length);
                received_.clear();
                return text;
            }
        }
        char piece[4096];
        const std::size_t wanted = std::min(whole - received_.size(), sizeof piece);
        const ssize_t n = recv(socket_.get(), piece, wanted, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return std::nullopt;
        if (n <= 0) throw std::runtime_error(has_left);
        received_.append(piece, std::size_t(n));
    }
}

void Talk::introduce(const std::string& secret, const Introduction& introduction) {
    base::Packer packer;
    packer.add(std::string_view(secret)).add(introduction.hosts);
    send(packed(packer));
}

void Talk::invite(const Invitation& invitation) {
    base::Packer packer;
    packer.add(std::string_view(invitation.meeting)).add(std::string_view(invitation.why));
    packer.add(std::int32_t(invitation.first_side)).add(std::int32_t(invitation.processes));
    send(packed(packer));
}

void Talk::conclude() {
    send(concluded);
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
        invitation.processes = unpacker.get<std::int32_t>();
        return invitation;
    } catch (const base::PackingError&) {
        damaged();
    }
}

Port::Port() : secret_(launch::random_digits()) {
    const std::string place = launch::random_digits().substr(0, place_digits);
    listener_ = launch::listen_as(fmt::format("{}{}", prefix, place), 64, SOCK_NONBLOCK);
    if (!listener_)
        throw std::runtime_error(fmt::format("cannot listen: {}", std::strerror(errno)));
    name_ = fmt::format("{}{}:{}", prefix, place, secret_);
}

std::optional<Port::Caller> Port::next() {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    while (waiting_.size() < most_waiting) {
        base::Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!caller) break;
        if (launch::is_same_user(caller))
            waiting_.push_back({SocketTalk(std::move(caller)), now + patience});
    }
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        try {
            if (const auto text = it->talk.receive()) {
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
            // A stranger.
        }
        it = waiting_.erase(it);
    }
    return std::nullopt;
}

std::optional<SocketTalk> call_port(const std::string& name, const Introduction& introduction) {
    const auto port = read_port_name(name);
    if (!port)
        throw std::runtime_error(
            "this is not the name of a port: expected what MPI_Open_port has returned");
    base::Descriptor socket = launch::connect_to(port->socket, SOCK_NONBLOCK);
    if (!socket && errno == EAGAIN) return std::nullopt;
    if (!socket)
        throw std::runtime_error(
            errno == ECONNREFUSED
                ? std::string("no process of this host has this port open (the root must be on the "
                              "host of the process that has opened it)")
                : fmt::format("cannot connect to the port: {}", std::strerror(errno)));
    if (!launch::is_same_user(socket)) throw std::runtime_error("the port belongs to another user");
    fcntl(socket.get(), F_SETFL, 0);  // it blocks from now on
    SocketTalk talk(std::move(socket));
    talk.introduce(std::string(port->secret), introduction);
    return talk;
}

// ---- names ----

namespace {

// Files in a folder to which only this user can write.
std::string names_folder() {
    const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
    std::string folder = runtime != nullptr && *runtime == '/' && access(runtime, W_OK) == 0
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

// Held while a name is changed, by one process at a time.
base::Descriptor lock_names() {
    base::Descriptor folder(::open(names_folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    while (folder && flock(folder.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    return folder;
}

std::optional<std::string> read_name(const std::string& path) {
    const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) return std::nullopt;
    std::string port(1024, '\0');
    const ssize_t n = read(file.get(), port.data(), port.size());
    port.resize(n > 0 ? std::size_t(n) : 0);
    return port;
}

// A process that was killed has left its name. Programs may publish any text.
bool is_stale(const std::string& text) {
    const auto port = read_port_name(text);
    return port && !launch::connect_to(port->socket, SOCK_NONBLOCK) && errno == ECONNREFUSED;
}

}  // namespace

std::optional<std::string> look_up(const std::string& service) {
    auto text = read_name(path_of(service));
    if (text && is_stale(*text)) text.reset();
    return text;
}

// The name appears with its whole content: others may look it up at any time.
bool publish(const std::string& service, const std::string& port) {
    const std::string path = path_of(service);
    const base::Descriptor lock = lock_names();
    const auto there = read_name(path);
    if (there && !is_stale(*there)) return false;
    std::string draft = names_folder() + "/draft-XXXXXX";
    const base::Descriptor file(mkostemp(draft.data(), O_CLOEXEC));
    const bool written =
        file && write(file.get(), port.data(), port.size()) == ssize_t(port.size());
    const bool renamed = written && rename(draft.c_str(), path.c_str()) == 0;
    const int error = errno;
    if (file && !renamed) unlink(draft.c_str());
    if (!renamed)
        throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(error)));
    return true;
}

bool unpublish(const std::string& service, const std::string& port) {
    const std::string path = path_of(service);
    const base::Descriptor lock = lock_names();
    return read_name(path) == port && unlink(path.c_str()) == 0;
}

}  // namespace torusmp::mpi
