// SPDX-License-Identifier: BSD-3-Clause
// The origin of accesses. target.cpp has the other end.
#include "core/rma/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "core/rma/bulk.h"
#include "core/rma/outlet.h"

namespace torusmp::core::rma {
namespace {

// Bytes of the place that one packet may ask for.
std::size_t room_for(const Operation& operation, const Options& options, std::size_t pieces) {
    std::size_t room = options.fragment() - pieces * sizeof(PieceBody);
    if (operation.action == Action::get_accumulate) room = std::min(room, most_fetched);
    return room / operation.element * operation.element;
}

// The next pieces of the place; returns their number.
std::size_t next_pieces(const Operation& operation, const Options& options,
                        std::span<PieceBody, most_pieces> pieces, std::size_t& bytes) {
    const Place& place = operation.place;
    const std::size_t left = place.bytes - operation.sent_;
    bytes = std::min(left, room_for(operation, options, 1));
    if (place.layout == nullptr) {
        pieces[0] = {place.at + operation.sent_, bytes};
        return 1;
    }
    std::array<Layout::Piece, most_pieces> found;
    Layout::Pieces got = place.layout->pieces(operation.sent_, bytes, found);
    if (got.count > 1) {
        bytes = std::min(left, room_for(operation, options, most_pieces));
        got = place.layout->pieces(operation.sent_, bytes, found);
    }
    bytes = got.bytes;
    for (std::size_t i = 0; i < got.count; ++i)
        pieces[i] = {place.at + std::uint64_t(found[i].offset), found[i].bytes};
    return got.count;
}

}  // namespace

Windows::Windows(Commons& commons, Connections& connections, PacketSender& sender,
                 Progress& progress, SharedMemory& shared, Messages& messages)
    : commons_(commons),
      connections_(connections),
      sender_(sender),
      progress_(progress),
      shared_(shared),
      outlets_(std::size_t(connections.size())),
      bulk_(std::make_unique<Bulk>(*this, messages)) {}

Windows::~Windows() = default;

Windows::Outlet& Windows::outlet(Rank rank) {
    std::unique_ptr<Outlet>& found = outlets_[std::size_t(rank)];
    if (found == nullptr) found = std::make_unique<Outlet>(*this, connections_.peer(rank));
    return *found;
}

void Windows::add(Window& window) {
    const Progress::Guard guard(progress_);
    window.dealings = std::vector<Window::Dealings>(window.members.size());
    window.id = windows_.add(window);
}

void Windows::remove(Window& window) {
    const Progress::Guard guard(progress_);
    TORUSMP_ASSERT(window.open == 0 && window.served == 0, commons_.rank(), window.id,
                   window.open.load(), window.served.load());
    counted_.direct += window.direct;
    windows_.remove(window.id);
    if (!window.revoked) return;
    constexpr std::size_t most_ended = 1024;
    ended_.push_back(window.id);
    if (ended_.size() > most_ended) ended_.pop_front();
}

transport::RemoteMemory Windows::name_of(transport::Bytes memory) {
    const Progress::Guard guard(progress_);
    return connections_.interfaces().front()->register_memory(memory, nullptr);
}

void Windows::reach(Window& window, int member, const transport::RemoteMemory& name) {
    const Progress::Guard guard(progress_);
    Window::Part& part = window.parts[std::size_t(member)];
    if (name.length == 0 || name.length != part.bytes) return;
    Connection& connection =
        connections_.to(connections_.peer(window.members[std::size_t(member)]));
    part.memory = connection.channel->map(name, 0, std::size_t(name.length));
    if (part.memory == nullptr && connection.channel->can_ever_write(name))
        part.reach = {&connection, name};
}

void Windows::start(Operation& operation) {
    const Progress::Guard guard(progress_);
    Window& window = *operation.window_;
    const Rank rank = window.members[std::size_t(operation.target)];
    commons_.open(operation, rank);
    operation.sent_ = operation.answered_ = 0;
    operation.refused_ = operation.moving_ = operation.over_ = false;
    operation.error_ = Error::none;
    if (has_pieces(operation.action)) ++counted_.sent;
    if (bulk_->takes(operation))
        operation.action =
            operation.action == Action::put ? Action::put_message : Action::get_message;
    Window::Dealings& dealings = window.dealings[std::size_t(operation.target)];
    ++dealings.open;
    ++window.open;
    const bool exclusive = operation.action == Action::lock_exclusive;
    Control* const control = window.parts[std::size_t(operation.target)].control;
    if (control != nullptr && is_lock(operation.action))
        return await_lock({&window, control, exclusive, &operation, window.self, 0});
    TORUSMP_ASSERT(rank != commons_.rank(), rank, operation.action);
    Outlet& way = outlet(rank);
    if (way.peer.dead) return finish(operation, Error::unreachable);
    if (!is_answered(operation.action) && !has_pieces(operation.action)) dealings.told = true;
    if (!is_answered(operation.action) && has_pieces(operation.action) && !dealings.dirty) {
        dealings.dirty = true;
        ++window.dirty;
    }
    if (is_answered(operation.action)) operation.id_ = operations_.add(operation);
    way.push(operation);
    advance_outlet(way);
}

// Sends what may leave immediately, and queues the rest.
void Windows::advance_outlet(Outlet& way) {
    if (way.queued || way.front == nullptr || way.must_wait()) return;
    Connection& connection = connections_.to(way.peer);
    if (connection.down()) return fail_queued(way, Error::unreachable);
    bool done = false;
    while (!done && sender_.may_leave(connection)) done = way.emit(connection);
    if (done || way.front == nullptr || way.queued) return;
    way.queued = true;
    sender_.enqueue(connection, way, PacketSender::Queue::stream);
}

// Sends one packet. Returns true if none may follow now.
bool Windows::Outlet::emit(Connection& connection) {
    if (front != nullptr && !must_wait()) windows_.send_next(*this, connection, *front);
    const bool done = front == nullptr || must_wait();
    if (done) queued = false;
    return done;
}

void Windows::send_next(Outlet& way, Connection& connection, Operation& operation) {
    struct {
        AskBody body;
        std::array<PieceBody, most_pieces> pieces;
    } ask;
    std::size_t bytes = 0, pieces = 0;
    const bool moves = is_message(operation.action);
    // The revocation has cancelled the messages of the window before this one.
    if (moves && operation.window_->revoked) return finish(way.pop(), Error::revoked);
    if (moves) ask.pieces[pieces++] = {operation.place.at, operation.place.bytes};
    if (has_pieces(operation.action) && !moves)
        pieces = next_pieces(operation, commons_.options, ask.pieces, bytes);
    ask.body = {.window = operation.window_->parts[std::size_t(operation.target)].id,
                .origin = std::uint32_t(operation.window_->self),
                .operation = operation.id_,
                .number = way.sent++,
                .position = operation.sent_,
                .bytes = std::uint32_t(bytes),
                .arithmetic = operation.arithmetic,
                .action = operation.action,
                .pieces = std::uint8_t(pieces)};
    const std::size_t front = sizeof(AskBody) + pieces * sizeof(PieceBody);
    const bool compares = operation.action == Action::compare_and_swap;
    const std::size_t data = moves || operation.data.bytes == 0 ? 0 : compares ? 2 * bytes : bytes;
    transport::PacketHeader header = sender_.header_to(way.peer, PacketKind::window_ask, 0);
    sender_.transmit_packed(connection, header, {reinterpret_cast<const std::byte*>(&ask), front},
                            operation.data, data == 0 ? 0 : operation.sent_, data);
    connection.statistics.count_control(header.length);
    if (is_answered(operation.action)) ++way.unanswered;
    operation.sent_ += moves ? operation.place.bytes : bytes;
    if (operation.sent_ < operation.place.bytes) return;
    way.pop();
    if (!is_answered(operation.action)) finish(operation, Error::none);
    if (moves) bulk_->begin(operation);
}

void Windows::finish(Operation& operation, Error error) {
    Window& window = *operation.window_;
    Window::Dealings& dealings = window.dealings[std::size_t(operation.target)];
    TORUSMP_ASSERT(dealings.open != 0 && window.open != 0, commons_.rank(), operation.peer());
    --dealings.open;
    --window.open;
    if (error != Error::none) dealings.error = error;
    if (operation.id_ != 0) operations_.remove(operation.id_);
    operation.id_ = 0;
    commons_.complete(operation, error);
    operation.ended();
}

void Windows::fail_queued(Outlet& way, Error error) {
    while (way.front != nullptr) finish(way.pop(), error);
}

bool Windows::on_answer(Peer& peer, const transport::PacketHeader& header,
                        const std::byte* payload) {
    AnswerBody body;
    if (!read_body(header, payload, body)) return false;
    Operation* const operation = operations_.find(body.operation);
    Outlet& way = outlet(peer.rank);
    if (operation == nullptr || operation->peer() != peer.rank || way.unanswered == 0 ||
        operation->action == Action::get_message)
        return false;
    const std::size_t data = header.length - sizeof body;
    const bool result = has_result(operation->action);
    if (!result
            ? body.bytes != 0
            : body.position > operation->sent_ || body.bytes > operation->sent_ - body.position ||
                  body.bytes > operation->place.bytes - operation->answered_)
        return false;
    const bool refused = body.refused != Refusal::none;
    if (body.refused > Refusal::revoked || data != (refused ? 0 : body.bytes)) return false;
    if (data != 0) operation->result.unpack(body.position, payload + sizeof body, data);
    operation->refused_ |= body.refused == Refusal::outside;
    operation->answered_ += body.bytes;
    --way.unanswered;
    if (body.refused == Refusal::revoked) operation->error_ = Error::revoked;
    operation->over_ = !result || operation->answered_ == operation->place.bytes;
    if (operation->over_ && !operation->moving_) finish(*operation, operation->error_);
    advance_outlet(way);
    return true;
}

void Windows::peer_lost(Peer& peer, Error error) {
    if (outlets_[std::size_t(peer.rank)] != nullptr) fail_queued(outlet(peer.rank), error);
    std::vector<Operation*> lost;
    operations_.for_each([&](Operation& operation) {
        if (operation.peer() == peer.rank) lost.push_back(&operation);
    });
    for (Operation* operation : lost) lose(*operation, error);
    const auto concerned = [&](const Waiter& waiter) {
        const Rank origin = waiter.window->members[std::size_t(waiter.origin)];
        return (waiter.operation != nullptr ? waiter.operation->peer() : origin) == peer.rank;
    };
    for (const Waiter& waiter : take_waiters(concerned))
        if (waiter.operation != nullptr) finish(*waiter.operation, error);
    windows_.for_each([&](Window& window) { give_up_locks(window, peer.rank); });
}

// An operation keeps its memory until a message from or to it has ended.
void Windows::lose(Operation& operation, Error error) {
    operation.over_ = true;
    operation.error_ = error;
    if (!operation.moving_) finish(operation, error);
}

WindowCounts Windows::counts() const {
    WindowCounts counts = counted_;
    windows_.for_each([&](const Window& window) {
        counts.direct += window.direct;
        counts.open += window.open;
    });
    counts.lock_waits = waiters_.size();
    return counts;
}

void Windows::report(Waits& waits) const {
    operations_.for_each([&](const Operation& operation) {
        waits.add(Waits::Operation{.kind = Waits::Operation::Kind::access,
                                   .stage = operation.sent_ != 0 || !has_pieces(operation.action)
                                                ? Waits::Operation::Stage::unmet
                                                : Waits::Operation::Stage::queued,
                                   .peer = operation.peer(),
                                   .bytes = operation.place.bytes,
                                   .done = operation.answered_,
                                   .id = static_cast<const Request*>(&operation)});
    });
    for (const Waiter& waiter : waiters_) report_lock(waits, waiter);
}

}  // namespace torusmp::core::rma
