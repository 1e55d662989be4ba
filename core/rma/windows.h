// SPDX-License-Identifier: BSD-3-Clause
// Windows over packets: what this rank asks of targets that it does not map, and what it does for
// those that ask it.
//
// Packets of one rank to another leave in the order in which their operations were started, take
// one path, and are done as they arrive; so a flush is answered when everything before it is done.
// Answers wait for nothing but a credit: see docs/architecture.md, "Windows".
//
// Handles window_ask and window_answer. Its callers need no lock.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/page/control_page.h"
#include "core/progress/progress.h"
#include "core/pt2pt/id_table.h"
#include "core/pt2pt/messages.h"
#include "core/rma/window.h"
#include "core/sharing/shared_memory.h"

namespace torusmp::core::rma {

class Windows final : public PeerLossListener, private Task {
  public:
    Windows(Commons& commons, Connections& connections, PacketSender& sender, Progress& progress,
            SharedMemory& shared, Messages& messages);
    ~Windows();

    // Assigns the window its id. It stays in place until it is removed, which its members do when
    // no operation on it is under way and none is served.
    void add(Window& window);
    void remove(Window& window);
    // A member has revoked the window. No lock of it is granted any more: operations that wait for
    // one end with Error::revoked, and those of other ranks are refused. Large accesses of other
    // ranks are not begun any more. Called under the Runtime's lock.
    void revoke(Window& window);
    // Completes the operation now or later. A lock is taken directly if its Control is mapped;
    // otherwise the target must not be this rank.
    void start(Operation& operation);
    // Releases a lock whose Control is mapped, after the operations under it are complete.
    void unlock(Window& window, int target, bool exclusive);
    // Takes a lock whose Control is mapped, if it is free. Ranks that waited when this one released
    // it get a chance first.
    bool lock_now(Window& window, int target, bool exclusive);

    // Signals to a member whose signals are mapped.
    void signal(Window& window, Signals::Kind kind, int member);
    // A call that waits for signals of members: until it is forgotten, those that come in mapped
    // memory wake this rank. All that it refers to stays in place.
    struct SignalWait {
        const Window& window;
        Signals::Kind kind;
        const std::vector<Rank>& members;

        std::int32_t missing() const;
    };
    void watch(const SignalWait& wait);
    void forget(const SignalWait& wait);

    // The memory of this rank's program, for the ranks of its host.
    transport::RemoteMemory name_of(transport::Bytes memory);
    // Makes such memory of a member accessible, if it is mapped here or the kernel copies.
    void reach(Window& window, int member, const transport::RemoteMemory& name);

    bool on_ask(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    bool on_answer(Peer& peer, const transport::PacketHeader& header, const std::byte* payload);
    void peer_lost(Peer& peer, Error error) override;
    void report(Waits& waits) const override;
    // "the lock of a window of rank 1, held by rank 2", if an operation of this rank waits for a
    // lock that its host maps; otherwise empty. `id` as in Waits::Operation.
    std::string describe_lock(const void* id) const;
    WindowCounts counts() const;

  private:
    class Outlet;
    class LateAnswer;
    class Bulk;
    // Waits for a lock: an operation of this rank, or a member of another host.
    struct Waiter {
        Window* window;
        Control* control;
        bool exclusive;
        Operation* operation;  // null for another rank
        int origin;
        std::uint32_t asked_by;  // the origin's id of its operation
    };

    Outlet& outlet(Rank rank);
    void advance_outlet(Outlet& outlet);
    void send_next(Outlet& outlet, Connection& connection, Operation& operation);
    void finish(Operation& operation, Error error);
    void fail_queued(Outlet& outlet, Error error);
    void lose(Operation& operation, Error error);

    struct Asked;
    bool access(const Asked& asked, const std::byte* data);
    void answer_get(const Asked& asked);
    void transmit_get(Connection& connection, Peer& peer, const AnswerBody& body,
                      std::span<const PieceBody> pieces, const Window& window);
    bool answer_fetch(const Asked& asked, const std::byte* data);
    void answer(Peer& peer, Window::Dealings& dealings, std::uint32_t operation);
    bool step(const Asked& asked);
    bool refuse_ended(Peer& peer, const AskBody& body);
    void await_lock(const Waiter& waiter);
    void refuse_lock(const Waiter& waiter);
    std::vector<Waiter> take_waiters(const std::function<bool(const Waiter&)>& which);
    void grant(const Waiter& waiter);
    bool take(const Window& window, Control& control, bool exclusive, Rank holder);
    void give_way(Window& window, int target);
    std::vector<Rank> holders_of(const Window& window, int target) const;
    void wake(const Window& window);
    void report_lock(Waits& waits, const Waiter& waiter) const;
    std::string describe_lock(const Waiter& waiter, std::span<const Rank> holders) const;
    static int target_of(const Waiter& waiter);
    void give_up_locks(Window& window, Rank dead);

    bool advance() override;
    bool looks() const override { return true; }
    void set_asleep(bool asleep) override;
    void list_task();

    Commons& commons_;
    Connections& connections_;
    PacketSender& sender_;
    Progress& progress_;
    SharedMemory& shared_;
    IdTable<Window> windows_;
    IdTable<Operation> operations_;                 // those that are answered
    std::vector<std::unique_ptr<Outlet>> outlets_;  // by rank; null until there is traffic
    std::deque<Waiter> waiters_;
    std::vector<const SignalWait*> signal_waits_;
    std::deque<std::uint32_t> ended_;  // ids of revoked windows, the last ones
    bool listed_ = false;              // as a task
    WindowCounts counted_;             // `direct`: of windows that were removed
    const std::unique_ptr<Bulk> bulk_;
};

}  // namespace torusmp::core::rma
