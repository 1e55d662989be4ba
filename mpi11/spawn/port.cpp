// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/spawn/port.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/packing.h"
#include "launch/meeting_socket.h"

namespace torusmp::mpi {
namespace {

// A message of either side: the hosts of all processes at most.
constexpr std::size_t longest = 4U << 20;
// A caller that does not introduce itself within this time is dropped.
constexpr std::chrono::seconds patience{5};
constexpr std::size_t most_waiting = 64;

bool same_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned differs = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differs |= unsigned(a[i] ^ b[i]);
    return differs == 0;
}

std::string packed(base::Packer& packer) {
    const auto bytes = packer.take();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

base::Unpacker unpacker_of(const std::string& text) {
    return base::Unpacker(std::as_bytes(std::span(text)));
}

[[noreturn]] void damaged() {
    throw std::runtime_error("the other side does not use the protocol of torusmp");
}

}  // namespace

void SocketTalk::send(const std::string& text) {
    const auto length = std::uint32_t(text.size());
    std::string all(reinterpret_cast<const char*>(&length), sizeof length);
    all += text;
    if (!launch::send_all(socket_, all)) throw std::runtime_error(has_left);
}

std::string SocketTalk::why_ended() const {
    const std::string errors = carrier_ ? carrier_->errors() : std::string();
    return errors.empty() ? has_left
                          : fmt::format("the connection to the other side has ended: {}", errors);
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
        if (n <= 0 && carrier_ && !carrier_->ended()) return std::nullopt;  // its errors come
        if (n <= 0) throw std::runtime_error(why_ended());
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

Port::Port(const std::string& host)
    : name_(launch::PortName::random(host)),
      listener_(launch::listen_as(name_.socket, 64, SOCK_NONBLOCK)) {
    if (!listener_)
        throw std::runtime_error(fmt::format("cannot listen: {}", std::strerror(errno)));
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
                Caller caller{{}, introduction_of(*text, name_.secret)};
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

}  // namespace torusmp::mpi
