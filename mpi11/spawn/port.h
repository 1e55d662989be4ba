// SPDX-License-Identifier: BSD-3-Clause
// Ports: where a process of one job waits for a process of another on the same host, and what both
// say to each other before their groups join.
//
// A port's name holds a secret. Whoever connects says it first, and must belong to the same user;
// before that it learns nothing, and it holds up nobody.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace torusmp::mpi {

// The group that wants to join, as it introduces itself. Hosts: of its processes, by rank, as its
// job's geometry names them; empty if it names none.
struct Introduction {
    std::vector<std::string> hosts;
};

// What the other side answers.
struct Invitation {
    std::string meeting;  // empty: refused
    std::string why;      // of a refusal
    int first_side = 0;
};

// A connection between the roots of both groups. One thread at a time.
class Talk {
  public:
    virtual ~Talk() = default;
    // Throws std::runtime_error.
    virtual void say(const std::string& text) = 0;
    // The next text, if it is there; never waits. Throws std::runtime_error if the other side is
    // gone.
    virtual std::optional<std::string> hear() = 0;

    void introduce(const std::string& secret, const Introduction& introduction);
    void invite(const Invitation& invitation);
    // To the other side: everything went well, and the end of this connection means nothing.
    void conclude();
};

// Over a socket: a length, then the bytes. Longer ones than torusmp sends end the connection.
class SocketTalk final : public Talk {
  public:
    SocketTalk() = default;
    explicit SocketTalk(base::Descriptor socket) : socket_(std::move(socket)) {}

    void say(const std::string& text) override;
    std::optional<std::string> hear() override;

  private:
    base::Descriptor socket_;
    std::string heard_;
};

inline constexpr const char* has_left = "the other side has left";

// Throw std::runtime_error if the text is damaged.
Introduction introduction_of(const std::string& text, const std::string& secret);
Invitation invitation_of(const std::string& text);
inline constexpr const char* concluded = "joined";

class Port {
  public:
    // Throws std::runtime_error.
    Port();
    const std::string& name() const { return name_; }

    // A caller that knows the secret, with its introduction; nothing if there is none yet. Never
    // waits.
    struct Caller {
        SocketTalk talk;
        Introduction introduction;
    };
    std::optional<Caller> next();

  private:
    struct Waiting {
        SocketTalk talk;
        std::chrono::steady_clock::time_point until;
    };
    std::string name_, secret_;
    base::Descriptor listener_;
    std::vector<Waiting> waiting_;
};

// Throws std::runtime_error if the name is not that of a port, or nobody listens.
SocketTalk call_port(const std::string& name, const Introduction& introduction);

// Names of ports, in a folder of the user on this host.
bool publish(const std::string& service, const std::string& port);    // false: it is published
bool unpublish(const std::string& service, const std::string& port);  // false: it is not
std::optional<std::string> look_up(const std::string& service);

}  // namespace torusmp::mpi
