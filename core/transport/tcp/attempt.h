// SPDX-License-Identifier: BSD-3-Clause
// A connection that is being established, by a call of this end or of another.
//
// Owned by a Connector, which deletes it after the poll in which it is over: until then an event of
// the poll may name it.
#pragma once

#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "base/descriptor.h"
#include "core/transport/tcp/handshake.h"

namespace torusmp::transport::tcp {

class TcpChannel;

// The object of an epoll event: a kind, in the low bits of a pointer or a number.
enum Watched : std::uint64_t { channel, attempt, listener, monitor, bell, alarm, companion };
inline constexpr std::uint64_t kind_bits = 3;

inline std::uint64_t mark(const void* object, Watched kind) {
    return std::uint64_t(reinterpret_cast<std::uintptr_t>(object)) | kind;
}

class Attempt {
  public:
    enum class Stage {
        connecting,   // the kernels are still establishing it
        introducing,  // the two ends prove to each other that they belong to the job
        parked,       // proven, and waiting for core to connect its port
        over          // connected, or given up
    };

    // A call of this end.
    Attempt(base::Descriptor to, Handshake as, TcpChannel& from)
        : socket(std::move(to)),
          handshake(std::move(as)),
          caller(&from),
          called_(true),
          stage_(Stage::connecting) {}
    // A connection that came in through a listener; which channel it belongs to shows later.
    Attempt(base::Descriptor from, Handshake as)
        : socket(std::move(from)), handshake(std::move(as)) {}

    base::Descriptor socket;
    Handshake handshake;
    TcpChannel* caller = nullptr;  // null for a pending connection

    // Writes and reads what the handshake needs next. Returns 0, an errno value, or one of these.
    static constexpr int closed = -1;   // the other end has closed the connection
    static constexpr int invalid = -2;  // it has sent something invalid: see Handshake::why()
    int exchange();

    bool called() const { return called_; }  // by this end
    Stage stage() const { return stage_; }
    bool is_over() const { return stage_ == Stage::over; }
    void end() { stage_ = Stage::over; }
    void become(Stage next) {
        TORUSMP_ASSERT((next == Stage::introducing && stage_ != Stage::over) ||
                           (next == Stage::parked && stage_ == Stage::introducing),
                       stage_, next, called_);
        stage_ = next;
    }

  private:
    bool called_ = false;
    Stage stage_ = Stage::introducing;
};

}  // namespace torusmp::transport::tcp
