// SPDX-License-Identifier: BSD-3-Clause
// What one rank waits for, as a plain value: the calls that wait, the messages and collectives that
// are open, the messages that nobody has asked for. Every module adds what it holds; reports of one
// rank are this value as text, and the launcher compares the values of all ranks.
//
// Made under the Runtime's lock; afterwards any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/request.h"

namespace torusmp::core {

struct Waits {
    // Raised with every change of the encoding.
    static constexpr std::uint32_t version = 1;
    // Of each kind of entry; what is beyond is only counted.
    static constexpr std::size_t most = 4096;

    // A call of the program that waits. Several threads may be in one each.
    struct Call {
        std::string name;
        double seconds = 0;  // since anything has moved
        bool any = false;    // one of what it awaits is enough; else it needs all
        friend bool operator==(const Call&, const Call&) = default;
    };

    struct Operation {
        enum class Kind : std::uint8_t {
            receive,
            send,
            probe,
            idle_receive,  // persistent or declared, and not started
            idle_send
        };
        enum class Stage : std::uint8_t {
            unmet,   // a receive: no message yet; a send: its receive has not started
            moving,  // its bytes are on their way
            queued   // a send: packets wait for their turn or for a credit
        };
        Kind kind = Kind::receive;
        Stage stage = Stage::unmet;
        bool channel = false;  // a declared channel: no tag matters
        int call = -1;         // the call that awaits it; -1: none does
        Rank peer = any_source;
        Context context = 0;
        Tag tag = any_tag;
        std::uint64_t bytes = 0;   // of the message, or room for it
        std::uint64_t done = 0;    // have come
        const void* id = nullptr;  // the request; here only, it does not travel
    };

    // One that has come, or asks to come, and that no receive has asked for.
    struct Message {
        bool channel = false;
        bool at_sender = false;  // only its request has come
        Rank source = any_source;
        Context context = 0;
        Tag tag = any_tag;
        std::uint64_t bytes = 0;
    };

    struct Collective {
        static constexpr std::uint64_t any_bytes = ~std::uint64_t{0};
        std::string name = {};
        Context context = 0;
        Tag tag = 0;  // the same on all members
        int call = -1;
        int root = -1;  // member; -1: there is none
        std::uint64_t bytes = any_bytes;
        std::string what = {};  // "MPI_SUM of integers of 4 B"
        std::vector<Rank> receives_from = {}, sends_to = {};
        std::string known = {};  // what members have told each other about it
        const void* id = nullptr;
    };

    // Packets that wait for a credit of a connection, and what holds them.
    struct Queue {
        std::string name = {};
        Rank peer = any_source;
        std::uint32_t credits = 0, of = 0;
        bool relays = false, down = false;
    };

    // What a context means to the program.
    struct Group {
        Context context = 0;
        std::string name;
        bool messages = false;  // the program's own, not those of collectives
        Tag last = -1;          // tag of the last collective that has begun on it; -1: not known
        std::vector<Rank> members;  // empty: not known
    };

    Rank rank = 0;
    int ranks = 1;
    bool meeting = false;  // it waits for all ranks of the job
    std::vector<Call> calls;
    std::vector<Operation> operations;
    std::vector<Message> messages;
    std::vector<Collective> collectives;
    std::vector<Queue> queues;
    std::vector<Group> groups;
    std::vector<std::string> notes;     // lines on reordering, detours and the like
    std::vector<std::string> counters;  // of transports
    std::uint64_t left_out = 0;         // entries beyond `most`

    void add(Operation operation) { put(operations, std::move(operation)); }
    void add(Message message) { put(messages, message); }
    void add(Collective collective) { put(collectives, std::move(collective)); }
    // Found by its context, or new.
    Group& group(Context context);
    const Group* find_group(Context context) const;
    // Everything that a wait might be about is missing.
    bool idle() const {
        return operations.empty() && collectives.empty() && queues.empty() && notes.empty();
    }

  private:
    template <class Entry>
    void put(std::vector<Entry>& entries, Entry entry) {
        if (entries.size() < most)
            entries.push_back(std::move(entry));
        else
            ++left_out;
    }
};

// Why a rank says what it waits for.
enum class WaitsWanted {
    text,    // somebody asked this process for a report
    answer,  // the launcher has asked all ranks
    overdue  // it has waited for longer than Options::watchdog
};

std::vector<std::byte> encode(const Waits& waits);
// Nothing for bytes that encode() does not make, of another version, or that name ranks which the
// job does not have.
std::optional<Waits> decode_waits(std::span<const std::byte> bytes, int ranks);

// The report of one rank: many lines. name_of: how messages call a rank.
std::string describe(const Waits& waits, const std::function<std::string(Rank)>& name_of);
// "allreduce waits for rank 1, 4; sends to rank 2"
std::string describe(const Waits::Collective& collective);

// Whoever above core knows something about waits.
class Reporter {
  public:
    // Called under the Runtime's lock.
    virtual void report(Waits& waits) const = 0;

  protected:
    ~Reporter() = default;
};

// What a waiting call waits for; looked at only while it waits long, and under the Runtime's lock.
class Awaited {
  public:
    struct List {
        bool any = false;                          // one is enough
        std::vector<const void*> ids;              // requests and tasks that are not complete
        std::vector<Waits::Operation> operations;  // what has no request
    };
    virtual void list(List& list) const = 0;
    // The request, if it is one alone.
    virtual const Request* request() const { return nullptr; }

  protected:
    ~Awaited() = default;
};

class AwaitedRequest final : public Awaited {
  public:
    explicit AwaitedRequest(const Request& request) : request_(request) {}
    void list(List& list) const override { list.ids.push_back(&request_); }
    const Request* request() const override { return &request_; }

  private:
    const Request& request_;
};

}  // namespace torusmp::core
