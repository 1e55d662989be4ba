// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/pt2pt/buffered.h"

#include <algorithm>

#include "mpi11/entry.h"
#include "mpi11/error/check.h"
#include "mpi11/session/session.h"

namespace torusmp::mpi {

void SendBuffer::attach(void* memory, std::size_t bytes) {
    const SharedLock lock(mutex_);
    if (memory_ != nullptr)
        fail(MPI_ERR_BUFFER, "a buffer of {} bytes is already attached: detach it first", bytes_);
    memory_ = memory;
    bytes_ = memory == MPI_BUFFER_AUTOMATIC ? 0 : bytes;
}

bool SendBuffer::attached() const {
    const SharedLock lock(mutex_);
    return memory_ != nullptr;
}

namespace {

class AwaitedMessages final : public core::Awaited {
  public:
    AwaitedMessages(const SendBuffer& buffer, std::uint64_t number)
        : buffer_(buffer), number_(number) {}
    void list(List& list) const override { buffer_.list_awaited(list, number_); }

  private:
    const SendBuffer& buffer_;
    const std::uint64_t number_;
};

}  // namespace

std::pair<void*, std::size_t> SendBuffer::detach(const char* call) {
    std::pair<void*, std::size_t> detached;
    const AwaitedMessages awaited(*this, ~std::uint64_t{0});
    runtime().wait_until(
        [&] {
            // Always locks, because the progress thread may report what this call awaits.
            const SharedLock lock(mutex_, true);
            sweep();
            if (!messages_.empty()) return false;
            detached = {std::exchange(memory_, nullptr), std::exchange(bytes_, 0)};
            return true;
        },
        call, &awaited);
    return detached;
}

void SendBuffer::send(const core::Buffer& message, Communicator& comm, int dest, int tag) {
    runtime().progress();  // may free room
    const SharedLock lock(mutex_);
    Message& kept = place(message.bytes);
    message.pack(0, kept.data, message.bytes);
    kept.comm = Reference<Communicator>(comm);
    comm.runtime().send(kept.request, core::Buffer(static_cast<void*>(kept.data), message.bytes),
                        comm.peer(dest), comm.context(), tag);
}

std::uint64_t SendBuffer::last() const {
    const SharedLock lock(mutex_);
    return last_;
}

bool SendBuffer::sent(std::uint64_t number) const {
    const SharedLock lock(mutex_, true);
    sweep();
    return std::none_of(messages_.begin(), messages_.end(),
                        [&](const Message& message) { return message.number <= number; });
}

bool SendBuffer::done(const Communicator& comm) const {
    const SharedLock lock(mutex_);
    sweep();
    return std::none_of(messages_.begin(), messages_.end(),
                        [&](const Message& message) { return message.comm.get() == &comm; });
}

// Other threads may make reports, and they must not wait for the lock.
void SendBuffer::list_awaited(core::Awaited::List& list, std::uint64_t number) const {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) return;
    for (const Message& message : messages_)
        if (message.number <= number && !message.request.complete())
            list.ids.push_back(static_cast<const core::Request*>(&message.request));
}

// Room for one more: in the first gap that is large enough, or of its own.
SendBuffer::Message& SendBuffer::place(std::size_t bytes) {
    sweep();
    const bool automatic = memory_ == MPI_BUFFER_AUTOMATIC;
    std::size_t from = 0;
    auto next = automatic ? messages_.end() : messages_.begin();
    while (next != messages_.end() && next->offset - from < bytes) {
        from = next->offset + next->bytes;
        ++next;
    }
    if (!automatic && next == messages_.end() && bytes_ - from < bytes)
        fail(MPI_ERR_BUFFER,
             "a message of {} bytes does not fit into the attached buffer of {} bytes, which "
             "holds {} messages: attach a larger buffer",
             bytes, bytes_, messages_.size());
    std::unique_ptr<std::byte[]> own;
    if (automatic) own.reset(new std::byte[bytes]);
    Message& placed = *messages_.emplace(next);
    placed.offset = from;
    placed.bytes = bytes;
    placed.number = ++last_;
    placed.data = automatic ? own.get() : static_cast<std::byte*>(memory_) + from;
    placed.own = std::move(own);
    return placed;
}

void SendBuffer::sweep() const {
    messages_.remove_if([](const Message& message) { return message.request.complete(); });
}

namespace {

std::shared_ptr<SendBuffer>& buffer_of_process() {
    static auto* const buffer =
        std::make_unique<std::shared_ptr<SendBuffer>>(std::make_shared<SendBuffer>()).release();
    return *buffer;
}

SendBuffer& buffer_for(const Communicator& comm) {
    if (comm.buffer && comm.buffer->attached()) return *comm.buffer;
    if (comm.session && comm.session->buffer && comm.session->buffer->attached())
        return *comm.session->buffer;
    return *buffer_of_process();
}

// Complete when the messages that were in the buffer are sent.
class Flush final : public Work {
  public:
    Flush(const char* call, std::shared_ptr<SendBuffer> buffer)
        : call_(call), buffer_(std::move(buffer)) {}
    ~Flush() = default;

    void start() override { number_ = buffer_ ? buffer_->last() : 0; }
    bool complete() const override { return !buffer_ || buffer_->sent(number_); }
    void finish() override {}
    void give_back() override { const std::unique_ptr<Flush> end(this); }
    const char* name() const override { return call_; }

  private:
    const char* const call_;
    const std::shared_ptr<SendBuffer> buffer_;
    std::uint64_t number_ = 0;
};

}  // namespace

void send_buffered(const core::Buffer& message, Communicator& comm, int dest, int tag) {
    if (dest == MPI_PROC_NULL) return;
    buffer_for(comm).send(message, comm, dest, tag);
}

bool buffered_sends_done(const Communicator& comm) {
    const auto done = [&](const SendBuffer* buffer) {
        return buffer == nullptr || buffer->done(comm);
    };
    return done(comm.buffer.get()) && done(buffer_of_process().get()) &&
           (!comm.session || done(comm.session->buffer.get()));
}

void finish_buffered_sends() {
    buffer_of_process()->detach("MPI_Finalize");
}

void attach_buffer(std::shared_ptr<SendBuffer>& buffer, void* memory, MPI_Count size) {
    if (size < 0) fail(MPI_ERR_ARG, "found size {}, expected 0 or more bytes", size);
    if (memory == nullptr && size > 0) wrong::output("buffer");
    static std::mutex mutex;
    {
        const SharedLock lock(mutex);
        if (!buffer) buffer = std::make_shared<SendBuffer>();
    }
    buffer->attach(memory, std::size_t(size));
}

std::pair<void*, std::size_t> detach_buffer(const char* call, SendBuffer* buffer) {
    return buffer == nullptr ? std::pair<void*, std::size_t>() : buffer->detach(call);
}

void flush_buffer(const char* call, SendBuffer* buffer) {
    if (buffer == nullptr) return;
    const std::uint64_t number = buffer->last();
    const AwaitedMessages awaited(*buffer, number);
    runtime().wait_until([&] { return buffer->sent(number); }, call, &awaited);
}

MPI_Request flush_later(const char* call, std::shared_ptr<SendBuffer> buffer) {
    auto work = std::make_unique<Flush>(call, std::move(buffer));
    work->start();
    Request& request = make_request(*work, *hot.world, false);
    work.release();  // now owned by the request
    return handle_of(request);
}

namespace {

template <class Count>
int send_buffered(const char* call, const void* buf, Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm handle) {
    return api_with_others(call, handle, [&](Communicator& comm) {
        const Datatype& type = check_send(buf, count, datatype, dest, tag, comm);
        LayoutHold hold;
        send_buffered(buffer_of(buf, std::size_t(count), type, hold), comm, dest, tag);
    });
}

template <class Count>
int detach(const char* call, void* buffer_addr, Count* size) {
    return api(call, [&] { detach_buffer(call, buffer_of_process().get(), buffer_addr, size); });
}

template <class Count>
int detach(const char* call, MPI_Comm handle, void* buffer_addr, Count* size) {
    return api(call, handle, [&](Communicator& comm) {
        detach_buffer(call, comm.buffer.get(), buffer_addr, size);
    });
}

int attach(const char* call, void* buffer, MPI_Count size) {
    return api(call, [&] { attach_buffer(buffer_of_process(), buffer, size); });
}

int attach(const char* call, MPI_Comm handle, void* buffer, MPI_Count size) {
    return api(call, handle, [&](Communicator& comm) { attach_buffer(comm.buffer, buffer, size); });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

TORUSMP_ENTRIES(Buffer_attach, (void* buffer, Count size), attach(name, buffer, size))
TORUSMP_ENTRIES(Buffer_detach, (void* buffer_addr, Count* size), detach(name, buffer_addr, size))
TORUSMP_ENTRIES(Comm_attach_buffer, (MPI_Comm comm, void* buffer, Count size),
                attach(name, comm, buffer, size))
TORUSMP_ENTRIES(Comm_detach_buffer, (MPI_Comm comm, void* buffer_addr, Count* size),
                detach(name, comm, buffer_addr, size))
TORUSMP_ENTRIES(Bsend,
                (const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm),
                send_buffered(name, buf, count, datatype, dest, tag, comm))

extern "C" {

#pragma weak MPI_Buffer_flush = PMPI_Buffer_flush
int PMPI_Buffer_flush(void) {
    return api("MPI_Buffer_flush",
               [] { flush_buffer("MPI_Buffer_flush", buffer_of_process().get()); });
}

#pragma weak MPI_Buffer_iflush = PMPI_Buffer_iflush
int PMPI_Buffer_iflush(MPI_Request* request) {
    return api("MPI_Buffer_iflush", [&] {
        check_output("request", request);
        *request = flush_later("MPI_Buffer_iflush", buffer_of_process());
    });
}

#pragma weak MPI_Comm_flush_buffer = PMPI_Comm_flush_buffer
int PMPI_Comm_flush_buffer(MPI_Comm comm) {
    return api("MPI_Comm_flush_buffer", comm,
               [](Communicator& c) { flush_buffer("MPI_Comm_flush_buffer", c.buffer.get()); });
}

#pragma weak MPI_Comm_iflush_buffer = PMPI_Comm_iflush_buffer
int PMPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request* request) {
    return api("MPI_Comm_iflush_buffer", comm, [&](Communicator& c) {
        check_output("request", request);
        *request = flush_later("MPI_Comm_iflush_buffer", c.buffer);
    });
}
}
