// SPDX-License-Identifier: BSD-3-Clause
// Ports: where a process of one job waits for a process of another on the same host, and the
// messages that both exchange before their groups join.
//
// A port's name holds a secret. A caller sends it first, and must belong to the same user; until
// then it gets no answer, and other callers do not wait for it.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace torusmp::mpi {

// The group that wants to join, as it introduces itself. Hosts: of its processes, by rank, as its
// job's geometry names them; if it names none, each is the identity of the machine.
struct Introduction {
    std::vector<std::string> hosts;
};

// What the other side answers.
struct Invitation {
    std::string meeting;  // empty: refused
    std::string why;      // of a refusal
    int first_side = 0;   // its processes
    int processes = 0;    // of both sides
};

// A connection between the roots of both groups. One thread at a time.
class Talk {
  public:
    virtual ~Talk() = default;
    // One message. Throws std::runtime_error.
    virtual void send(const std::string& text) = 0;
    // The next message, if it has arrived; never waits. Throws std::runtime_error if the connection
    // has ended.
    virtual std::optional<std::string> receive() = 0;

    void introduce(const std::string& secret, const Introduction& introduction);
    void invite(const Invitation& invitation);
    // Sends that this side has joined: the end of this connection is not a failure any more.
    void conclude();
};

// Over a socket: a length, then the bytes, not more than the protocol allows.
class SocketTalk final : public Talk {
  public:
    SocketTalk() = default;
    explicit SocketTalk(base::Descriptor socket) : socket_(std::move(socket)) {}

    void send(const std::string& text) override;
    std::optional<std::string> receive() override;

  private:
    base::Descriptor socket_;
    std::string received_;
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
    std::mutex mutex_;  // several threads may accept
    std::vector<Waiting> waiting_;
};

// Empty if too many callers wait there at present. Throws std::runtime_error if this is not the
// name of a port, or if no process listens.
std::optional<SocketTalk> call_port(const std::string& name, const Introduction& introduction);

// Names of ports, in a folder of the user on this host.
bool publish(const std::string& service, const std::string& port);    // false: it is published
bool unpublish(const std::string& service, const std::string& port);  // false: it is not
std::optional<std::string> look_up(const std::string& service);

}  // namespace torusmp::mpi
