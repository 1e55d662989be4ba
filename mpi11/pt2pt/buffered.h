// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: messages wait in memory that the program has attached to the process, a session
// or a communicator (MPI-4.1, section 3.6).
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "core/layout/layout.h"
#include "mpi11/comm/communicator.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {

// The memory, and the messages that wait in it. Any thread may call.
class SendBuffer {
  public:
    // With MPI_BUFFER_AUTOMATIC as `memory`, the library allocates as much as the messages need.
    void attach(void* memory, std::size_t bytes);
    bool attached() const;
    // Waits for all messages, also those that other threads send meanwhile, then returns the memory
    // and its size.
    std::pair<void*, std::size_t> detach(const char* call);
    // Copies the message and sends it. Throws Failure with MPI_ERR_BUFFER if there is no room.
    void send(const core::Buffer& message, Communicator& comm, int dest, int tag);
    // Messages count from 1. The number of the last one, and whether all up to a number are sent.
    std::uint64_t last() const;
    bool sent(std::uint64_t number) const;
    // Whether no message of the communicator is waiting.
    bool done(const Communicator& comm) const;
    // Lists, for reports, what a call that waits for all messages up to a number is waiting for.
    void list_awaited(core::Awaited::List& list, std::uint64_t number) const;

  private:
    struct Message {
        std::size_t offset;
        std::size_t bytes;
        std::uint64_t number;
        std::byte* data;
        std::unique_ptr<std::byte[]> own;  // the data, in memory of the library
        core::SendRequest request;
        Reference<Communicator> comm;
    };
    Message& place(std::size_t bytes);
    void sweep() const;

    mutable std::mutex mutex_;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::uint64_t last_ = 0;
    mutable std::list<Message> messages_;  // in the order of their offsets; swept at each look
};

// Sends from the communicator's buffer; if none is attached, from its session's; if none is, from
// the buffer of the process. dest may be MPI_PROC_NULL.
void send_buffered(const core::Buffer& message, Communicator& comm, int dest, int tag);

// Whether no message of the communicator is waiting in any buffer.
bool buffered_sends_done(const Communicator& comm);

// Waits for all messages in the buffer of the process, and detaches it: at MPI_Finalize.
void finish_buffered_sends();

// --- the bodies of the functions on any buffer. `buffer` is null if none was attached yet ---
void attach_buffer(std::shared_ptr<SendBuffer>& buffer, void* memory, MPI_Count size);
std::pair<void*, std::size_t> detach_buffer(const char* call, SendBuffer* buffer);
void flush_buffer(const char* call, SendBuffer* buffer);
// The request is complete when all messages that are in the buffer now are sent.
MPI_Request flush_later(const char* call, std::shared_ptr<SendBuffer> buffer);

template <class Count>
void detach_buffer(const char* call, SendBuffer* buffer, void* buffer_addr, Count* size) {
    check_output("buffer_addr", buffer_addr);
    check_output("size", size);
    const auto [memory, bytes] = detach_buffer(call, buffer);
    *static_cast<void**>(buffer_addr) = memory;
    *size = fitting<Count>(bytes);
}

}  // namespace torusmp::mpi
