// SPDX-License-Identifier: BSD-3-Clause
// The Runtime: one rank of a torus, its connections and everything in flight.
//
// This is what the front ends build on: a facade over core's modules. A Runtime is an ordinary
// object; a process may hold hundreds (the tests do, over the sim transport). It owns its transport
// interfaces and all protocol state; requests, buffers and layouts belong to the caller until they
// are complete.
//
// Threads: with Options::threads false, one thread at a time may call, and no lock is taken. With
// it true any thread may call at any time. request_report() may be called from a signal handler.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/connection/connection.h"
#include "core/inspection.h"
#include "core/match/unexpected.h"
#include "core/notes/notes.h"
#include "core/options.h"
#include "core/progress/progress.h"
#include "core/progress/task.h"
#include "core/request.h"
#include "core/sharing/shared_memory.h"
#include "core/waits/waits.h"

namespace torusmp::core {

class Core;

// Declared channels (QMP). All messages of one flow between two ranks match in the order they are
// started, without looking at tags: the n-th started send meets the n-th started receive. A flow
// lives as long as the Runtime; opening it again gives the same one.
class Flows final {
  public:
    explicit Flows(Core& core) : core_(core) {}

    // `kind` tells flows between the same two ranks in one context apart; both ends name the same.
    SendFlow& open_send(Rank dest, Context context, std::uint32_t kind) const;
    ReceiveFlow& open_receive(Rank source, Context context, std::uint32_t kind) const;
    // followed: another send to that rank is started next, and this one may leave with it.
    void start(SendFlow& flow, SendRequest& request, Buffer buffer, bool followed = false) const;
    void start(ReceiveFlow& flow, ReceiveRequest& request, Buffer buffer) const;

  private:
    Core& core_;
};

class Runtime final {
  public:
    using InterfaceFactory = core::InterfaceFactory;
    using LinkTransport = core::LinkTransport;

    // Opens the interfaces with the ports this rank needs: one to the ranks in Options::direct and
    // one for each link transport that carries something; without link transports the first serves
    // all. All ranks name the same link transports in the same order. Memory comes from the first
    // one that exists. Then the addresses of all ranks are exchanged (bootstrap) and given to
    // connect(). Throws std::invalid_argument for impossible options, std::runtime_error for what a
    // transport refuses.
    explicit Runtime(Options options, const InterfaceFactory& make_interface,
                     std::vector<LinkTransport> link_transports = {});
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    std::vector<std::byte> address() const;
    // Begins to connect the links. A peer that cannot be reached shows as a fault when the Runtime
    // next runs; the same holds for a connection made later, on first use.
    void connect(std::vector<std::vector<std::byte>> addresses_by_rank);
    // Waits until all links are up, however long their other ends take; a progress thread starts
    // with that. Throws std::runtime_error that names the link that does not come up and says why;
    // keeps_going: it is reported like any other fault instead.
    void await_links(bool keeps_going);
    // Tells all peers that nothing more comes from this rank; see transport::Interface. Afterwards
    // memory may be allocated and freed, and nothing else.
    void say_goodbye();

    const Options& options() const { return options_; }
    Rank rank() const { return options_.rank; }
    int size() const { return options_.torus.size(); }
    const routing::Torus& torus() const { return options_.torus; }
    const Inspection& state() const { return state_; }
    Notes& notes() { return notes_; }
    const Flows& flows() const { return flows_; }

    // --- messages matched by context, source and tag (MPI's rules) ---
    // dest and source are ranks of the torus; precondition: in range (source may be any_source).
    void send(SendRequest& request, const Buffer& buffer, Rank dest, Context context, Tag tag,
              SendMode mode = SendMode::standard);
    // The short way for a standard send of one block: a small message leaves at once, and there is
    // no request. False: nothing was done, since it is large or something stands in its way.
    bool send_at_once(transport::ConstBytes message, Rank dest, Context context, Tag tag);
    // To the neighbour in that direction, over that very link where it is a cable of its own: two
    // ranks in a ring of two share two cables, of which send() would take one for small messages.
    // Matching and order are as with send(). Precondition: there is a neighbour.
    void send_by(SendRequest& request, const Buffer& buffer, routing::Direction link,
                 Context context, Tag tag);
    void receive(ReceiveRequest& request, const Buffer& buffer, Rank source, Context context,
                 Tag tag);
    // The short way where the memory is one block.
    void receive_block(ReceiveRequest& request, transport::Bytes block, Rank source,
                       Context context, Tag tag);
    // The first message that such a receive would match, without receiving it.
    std::optional<Status> probe(Rank source, Context context, Tag tag);
    // Takes that message out of matching, for one receive of its own: Unexpected::status()
    // describes it. Null: there is none yet. It must be received, or it stays in memory.
    Unexpected* claim(Rank source, Context context, Tag tag);
    // Receives a message that was claimed.
    void receive(ReceiveRequest& request, const Buffer& buffer, Unexpected& claimed);
    // Asks to take a receive back. It completes, now or later, as cancelled or with its message; at
    // once if the peer is this rank.
    void cancel(ReceiveRequest& request);
    // Asks to take a matched send back. It completes, now or later, as cancelled if no receive has
    // matched it, else as usual. To this rank itself that is decided at once.
    void cancel(SendRequest& request);

    // --- progress ---
    // Moves everything that can move, without waiting. True when something did.
    bool progress();
    // Polls, then sleeps, until the request is complete. `what` names the call in reports.
    void wait(Request& request, std::string_view what = "wait") {
        const AwaitedRequest awaited(request);
        wait_until([&] { return request.complete(); }, what, &awaited);
    }
    // The same for any condition that progress can fulfil. awaited: what that is, for reports.
    template <class Done>
    void wait_until(Done&& done, std::string_view what, const Awaited* awaited = nullptr) {
        if (done()) return;
        progress_.poll();  // often it is there already
        if (done()) return;
        Progress::Waiter waiter(progress_, what, awaited);
        do waiter.turn();
        while (!done());
    }
    // What somebody waits for has happened without the Runtime: everybody who waits looks again.
    void stir() { progress_.stir(); }
    // For callers that use in several steps what progress works on.
    Progress::Guard lock() const { return Progress::Guard(progress_); }
    // A task is advanced at once, and then whenever something has moved.
    void add_task(Task& task);

    // --- memory that peers reach at the lowest cost ---
    void* allocate(std::size_t bytes, std::size_t alignment);
    void free(void* memory);
    // Memory that this rank and others of its host share; see there.
    SharedMemory& shared() { return shared_; }

    // --- from outside ---
    // Prints the report through Options::log as soon as the Runtime next runs; async-signal-safe.
    void request_report() noexcept;
    // The same, for the launcher: what is waited for goes to Options::on_waits.
    void request_answer() noexcept;
    // Asked for every report, until removed.
    void add_reporter(const Reporter& reporter);
    void remove_reporter(const Reporter& reporter);
    // Calls Options::on_interrupt as soon as the Runtime next runs, on the thread that runs it;
    // from any thread and from signal handlers.
    void interrupt() noexcept;
    // Completes with Error::unreachable every request to and from a rank that is known to be dead.
    void peer_died(Rank peer, std::string_view why);

  private:
    const std::unique_ptr<Core> core_;
    const Options& options_;
    Progress& progress_;
    Notes& notes_;
    SharedMemory& shared_;
    const Inspection state_;
    const Flows flows_;
};

}  // namespace torusmp::core
