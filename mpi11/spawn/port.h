// SPDX-License-Identifier: BSD-3-Clause
// Ports: where a process of one job waits for a process of another, and the messages that both
// exchange before their groups join.
//
// A port's name holds a secret. A caller sends it first, and must belong to the same user; until
// then it gets no answer, and other callers do not wait for it. The call of a process on another
// host arrives through a torus-stand-in on the host of the port (port_call.h).
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "job/subjob.h"
#include "launch/port_name.h"

namespace torusmp::mpi {

// The group that wants to join, as it introduces itself. Hosts: of its processes, by rank, as its
// job's geometry names them; if it names none, each is the identity of the machine.
struct Introduction {
    std::vector<std::string> hosts;
};

// The answer of the other side.
struct Invitation {
    std::string meeting;  // empty if refused
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

// Talks over a socket. A message is a length, then the bytes, not more than the protocol allows.
class SocketTalk final : public Talk {
  public:
    SocketTalk() = default;
    // `carrier` carries the bytes to and from another host, or is null.
    explicit SocketTalk(base::Descriptor socket, std::unique_ptr<job::Subjob> carrier = {})
        : carrier_(std::move(carrier)), socket_(std::move(socket)) {}

    void send(const std::string& text) override;
    std::optional<std::string> receive() override;

  private:
    std::string why_ended() const;

    // Ends after the socket, whose end is in good order.
    std::unique_ptr<job::Subjob> carrier_;
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
    // `host` is this host's name in the geometry of this job, or empty. Throws std::runtime_error.
    explicit Port(const std::string& host);
    std::string name() const { return name_.text(); }

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
    launch::PortName name_;
    base::Descriptor listener_;
    std::mutex mutex_;  // several threads may accept
    std::vector<Waiting> waiting_;
};

}  // namespace torusmp::mpi
