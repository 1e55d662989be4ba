// SPDX-License-Identifier: BSD-3-Clause
// What a target does with the packets that ask it. Nothing here waits: what cannot be answered for
// lack of a credit is kept, at most `most_unanswered` packets for each origin, and data of a get is
// read when its answer leaves.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"
#include "core/rma/asked.h"
#include "core/rma/bulk.h"
#include "core/rma/outlet.h"

namespace torusmp::core::rma {

// An answer to a get that waits for a credit.
class Windows::LateAnswer final : public Outgoing {
  public:
    LateAnswer(Windows& windows, const Asked& asked, const AnswerBody& body)
        : windows_(windows),
          peer_(asked.peer),
          window_(asked.window.id),
          count_(asked.body.pieces),
          body_(body) {
        std::copy_n(asked.pieces.data(), count_, pieces());
    }
    static std::size_t size(std::size_t count) {
        return sizeof(LateAnswer) + count * sizeof(PieceBody);
    }

    bool emit(Connection& connection) override {
        if (const Window* const window = windows_.windows_.find(window_))
            windows_.transmit_get(connection, peer_, body_, {pieces(), count_}, *window);
        drop(Error::none);
        return true;
    }
    void drop(Error) override { windows_.commons_.pool.give(this, size(count_)); }

  private:
    PieceBody* pieces() { return reinterpret_cast<PieceBody*>(this + 1); }

    Windows& windows_;
    Peer& peer_;
    std::uint32_t window_;
    std::size_t count_;
    AnswerBody body_;
};

bool Windows::on_ask(Peer& peer, const transport::PacketHeader& header, const std::byte* payload) {
    AskBody body;
    if (!read_body(header, payload, body) || body.action > Action::last_action) return false;
    if (body.number != outlet(peer.rank).taken++) return false;
    Window* const window = windows_.find(body.window);
    if (window == nullptr) return refuse_ended(peer, body);
    if (body.origin >= window->members.size() || window->members[body.origin] != peer.rank)
        return false;
    Asked asked{peer, *window, body, {}};
    const std::size_t front = sizeof body + body.pieces * sizeof(PieceBody);
    if (body.pieces > most_pieces || header.length < front) return false;
    std::memcpy(asked.pieces.data(), payload + sizeof body, front - sizeof body);
    std::uint64_t bytes = 0;
    for (const PieceBody& piece : asked.all()) {
        if (!is_message(body.action) && piece.bytes > body.bytes - bytes) return false;
        bytes += piece.bytes;
    }
    if (has_pieces(body.action) != (body.pieces != 0)) return false;
    const std::size_t data = header.length - front;
    if (has_pieces(body.action) && body.position == 0) ++counted_.served;
    if (is_message(body.action)) return data == 0 && bulk_->serve(asked);
    if (bytes != body.bytes) return false;
    switch (body.action) {
        case Action::put:
        case Action::accumulate:
            return data == bytes && access(asked, payload + front);
        case Action::get:
            if (data != 0 || bytes + sizeof(AnswerBody) > commons_.options.body()) return false;
            answer_get(asked);
            return true;
        case Action::get_accumulate:
            return (data == bytes || data == 0) && bytes <= most_fetched &&
                   answer_fetch(asked, data == 0 ? nullptr : payload + front);
        case Action::compare_and_swap:
            return data == 2 * bytes && bytes <= most_fetched && body.pieces == 1 &&
                   answer_fetch(asked, payload + front);
        default:
            return data == 0 && step(asked);
    }
}

// A member for which making a window has failed has ended it, while others have it. They have the
// news of its revocation, or get it.
bool Windows::refuse_ended(Peer& peer, const AskBody& body) {
    if (std::find(ended_.begin(), ended_.end(), body.window) == ended_.end()) return false;
    if (is_answered(body.action) && body.action != Action::get_message)
        sender_.send(peer, PacketKind::window_answer,
                     AnswerBody{body.operation, has_result(body.action) ? body.bytes : 0,
                                body.position, Refusal::revoked, 0});
    return true;
}

namespace {

// The memory of all pieces; false if a part of it is not the window's.
bool find_memory(const Window& window, std::span<const PieceBody> pieces,
                 std::span<std::byte*, most_pieces> memory) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        memory[i] = window.own(pieces[i].at, pieces[i].bytes);
        if (memory[i] == nullptr) return false;
    }
    return true;
}

}  // namespace

// Puts or accumulates. Returns false for what no origin sends: it checks the bounds itself, unless
// the window is dynamic.
bool Windows::access(const Asked& asked, const std::byte* data) {
    Arithmetic arithmetic;
    const bool accumulates = asked.body.action == Action::accumulate;
    if (accumulates && (!asked.window.find(asked.body.arithmetic, arithmetic) || arithmetic.keeps))
        return false;
    std::array<std::byte*, most_pieces> memory;
    if (!find_memory(asked.window, asked.all(), memory)) {
        asked.dealings().refused = true;
        return asked.window.dynamic;
    }
    for (std::size_t i = 0; i < asked.all().size(); ++i) {
        const std::size_t bytes = asked.pieces[i].bytes;
        if (!accumulates) {
            std::memcpy(memory[i], data, bytes);
        } else {
            if (bytes % arithmetic.element != 0) return false;
            apply(asked.control(), arithmetic, {data, bytes}, {memory[i], bytes}, nullptr);
        }
        data += bytes;
    }
    return true;
}

void Windows::answer_get(const Asked& asked) {
    const AnswerBody body{asked.body.operation, asked.body.bytes, asked.body.position,
                          Refusal::none, 0};
    Connection& connection = connections_.to(asked.peer);
    if (connection.down()) return;
    if (sender_.may_leave(connection))
        return transmit_get(connection, asked.peer, body, asked.all(), asked.window);
    void* const room = commons_.pool.take(LateAnswer::size(asked.body.pieces));
    sender_.enqueue(connection, *::new (room) LateAnswer(*this, asked, body),
                    PacketSender::Queue::message);
}

// Precondition: there is a credit.
void Windows::transmit_get(Connection& connection, Peer& peer, const AnswerBody& asked,
                           std::span<const PieceBody> pieces, const Window& window) {
    AnswerBody body = asked;
    std::array<std::byte*, most_pieces> memory;
    const bool refused = !find_memory(window, pieces, memory);
    body.refused = refused ? Refusal::outside : Refusal::none;
    const std::size_t data = refused ? 0 : body.bytes;
    transport::PacketHeader header =
        sender_.header_to(peer, PacketKind::window_answer, sizeof body + data);
    sender_.take_credit(connection, header);
    std::byte* slot = connection.channel->reserve(header.virtual_channel, header.length);
    std::memcpy(slot, &body, sizeof body);
    slot += sizeof body;
    for (std::size_t i = 0; i < pieces.size() && data != 0; ++i) {
        std::memcpy(slot, memory[i], pieces[i].bytes);
        slot += pieces[i].bytes;
    }
    connection.channel->commit(header);
    connection.statistics.count_control(header.length);
}

// A fetching atomic: done now, and answered with what was there.
bool Windows::answer_fetch(const Asked& asked, const std::byte* data) {
    struct {
        AnswerBody body;
        std::array<std::byte, most_fetched> old;
    } answer;
    answer.body = {asked.body.operation, asked.body.bytes, asked.body.position, Refusal::none, 0};
    Arithmetic arithmetic;
    const bool compares = asked.body.action == Action::compare_and_swap;
    if (!compares && (!asked.window.find(asked.body.arithmetic, arithmetic) ||
                      (data == nullptr) != arithmetic.keeps))
        return false;
    std::array<std::byte*, most_pieces> memory;
    if (!find_memory(asked.window, asked.all(), memory)) {
        if (!asked.window.dynamic) return false;
        answer.body.refused = Refusal::outside;
    }
    std::byte* old = answer.old.data();
    for (std::size_t i = 0; i < asked.all().size() && answer.body.refused == Refusal::none; ++i) {
        const std::size_t bytes = asked.pieces[i].bytes;
        if (compares) {
            rma::compare_and_swap(asked.control(), bytes, data, data + bytes, memory[i], old);
        } else {
            if (bytes % arithmetic.element != 0) return false;
            const Buffer result(old, bytes);
            apply(asked.control(), arithmetic, {data, arithmetic.keeps ? 0 : bytes},
                  {memory[i], bytes}, &result);
            if (data != nullptr) data += bytes;
        }
        old += bytes;
    }
    const std::size_t length =
        sizeof(AnswerBody) + (answer.body.refused != Refusal::none ? 0 : asked.body.bytes);
    sender_.send_bytes(connections_.to(asked.peer), asked.peer, PacketKind::window_answer,
                       {reinterpret_cast<const std::byte*>(&answer), length}, 0, 0);
    return true;
}

void Windows::answer(Peer& peer, Window::Dealings& dealings, std::uint32_t operation) {
    const AnswerBody body{operation, 0, 0, dealings.refused ? Refusal::outside : Refusal::none, 0};
    dealings.refused = false;
    sender_.send(peer, PacketKind::window_answer, body);
}

// A step of an epoch.
bool Windows::step(const Asked& asked) {
    Window::Dealings& dealings = asked.dealings();
    const auto origin = int(asked.body.origin);
    switch (asked.body.action) {
        case Action::post:
            ++dealings.packets[std::size_t(Signals::Kind::post)];
            return true;
        case Action::complete:
            ++dealings.packets[std::size_t(Signals::Kind::complete)];
            return true;
        case Action::lock_shared:
        case Action::lock_exclusive:
            await_lock({&asked.window, &asked.control(),
                        asked.body.action == Action::lock_exclusive, nullptr, origin,
                        asked.body.operation});
            return true;
        case Action::unlock_shared:
            if (dealings.shared_locks == 0) return false;
            --dealings.shared_locks;
            if (asked.control().unlock(false, asked.window.place)) wake(asked.window);
            break;
        case Action::unlock_exclusive:
            if (!dealings.exclusive_lock) return false;
            dealings.exclusive_lock = false;
            if (asked.control().unlock(true, asked.window.place)) wake(asked.window);
            break;
        default:
            break;
    }
    answer(asked.peer, dealings, asked.body.operation);
    return true;
}

}  // namespace torusmp::core::rma
