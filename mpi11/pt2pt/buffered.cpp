// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/pt2pt/buffered.h"

#include <algorithm>
#include <list>

#include "mpi11/entry.h"
#include "mpi11/error/check.h"
#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {
namespace {

class AttachedBuffer {
  public:
    static AttachedBuffer& only() {
        static AttachedBuffer* const buffer = std::make_unique<AttachedBuffer>().release();
        return *buffer;
    }

    void attach(void* memory, std::size_t bytes) {
        const SharedLock lock(mutex_);
        if (memory_ != nullptr)
            fail(MPI_ERR_BUFFER, "a buffer of {} bytes is already attached: detach it first",
                 bytes_);
        memory_ = static_cast<std::byte*>(memory);
        bytes_ = bytes;
    }

    // Waits for all messages in the buffer. Other threads may send and call meanwhile: their
    // messages are waited for too.
    std::pair<void*, std::size_t> detach() {
        std::pair<void*, std::size_t> detached;
        const AwaitedMessages awaited(*this);
        runtime().wait_until(
            [&] {
                // Always: the progress thread may make a report of what this call awaits.
                const SharedLock lock(mutex_, true);
                sweep();
                if (!messages_.empty()) return false;
                detached = {std::exchange(memory_, nullptr), std::exchange(bytes_, 0)};
                return true;
            },
            "MPI_Buffer_detach", &awaited);
        return detached;
    }

    void send(const core::Buffer& message, Communicator& comm, int dest, int tag) {
        runtime().progress();  // may free room
        const SharedLock lock(mutex_);
        Message& kept = place(message.bytes);
        message.pack(0, memory_ + kept.offset, message.bytes);
        kept.comm = Reference<Communicator>(comm);
        runtime().send(kept.request,
                       core::Buffer(static_cast<void*>(memory_ + kept.offset), message.bytes),
                       comm.peer(dest), comm.context(), tag);
    }

    bool done(const Communicator& comm) {
        const SharedLock lock(mutex_);
        sweep();
        return std::none_of(messages_.begin(), messages_.end(),
                            [&](const Message& message) { return message.comm.get() == &comm; });
    }

  private:
    struct Message {
        std::size_t offset;
        std::size_t bytes;
        core::SendRequest request;
        Reference<Communicator> comm;
    };

    // Room for one more, in the first gap that is large enough.
    Message& place(std::size_t bytes) {
        sweep();
        std::size_t from = 0;
        auto next = messages_.begin();
        while (next != messages_.end() && next->offset - from < bytes) {
            from = next->offset + next->bytes;
            ++next;
        }
        if (next == messages_.end() && bytes_ - from < bytes)
            fail(MPI_ERR_BUFFER,
                 "a message of {} bytes does not fit into the attached buffer of {} bytes, which "
                 "holds {} messages: attach a larger buffer",
                 bytes, bytes_, messages_.size());
        const auto placed = messages_.emplace(next);
        placed->offset = from;
        placed->bytes = bytes;
        return *placed;
    }
    void sweep() {
        messages_.remove_if([](const Message& message) { return message.request.complete(); });
    }

    // For reports, which other threads may create, and which must not wait for the lock.
    class AwaitedMessages final : public core::Awaited {
      public:
        explicit AwaitedMessages(AttachedBuffer& buffer) : buffer_(buffer) {}
        void list(List& list) const override {
            const std::unique_lock<std::mutex> lock(buffer_.mutex_, std::try_to_lock);
            if (!lock) return;
            for (const Message& message : buffer_.messages_)
                if (!message.request.complete())
                    list.ids.push_back(static_cast<const core::Request*>(&message.request));
        }

      private:
        AttachedBuffer& buffer_;
    };

    std::mutex mutex_;
    std::byte* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::list<Message> messages_;  // in the order of their offsets
};

}  // namespace

void send_buffered(const core::Buffer& message, Communicator& comm, int dest, int tag) {
    if (dest == MPI_PROC_NULL) return;
    AttachedBuffer::only().send(message, comm, dest, tag);
}

bool buffered_sends_done(const Communicator& comm) {
    return AttachedBuffer::only().done(comm);
}

void finish_buffered_sends() {
    AttachedBuffer::only().detach();
}

namespace {

int attach(const char* call, void* buffer, MPI_Count size) {
    return api(call, [&] {
        if (size < 0) fail(MPI_ERR_ARG, "found size {}, expected 0 or more bytes", size);
        if (buffer == nullptr && size > 0) wrong::output("buffer");
        AttachedBuffer::only().attach(buffer, std::size_t(size));
    });
}

template <class Count>
int detach(const char* call, void* buffer_addr, Count* size) {
    return api(call, [&] {
        check_output("buffer_addr", buffer_addr);
        check_output("size", size);
        const auto [memory, bytes] = AttachedBuffer::only().detach();
        *static_cast<void**>(buffer_addr) = memory;
        *size = fitting<Count>(bytes);
    });
}

template <class Count>
int send_buffered(const char* call, const void* buf, Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm handle) {
    return api(call, handle, [&](Communicator& comm) {
        const Datatype& type = check_send(buf, count, datatype, dest, tag, comm);
        LayoutHold hold;
        send_buffered(buffer_of(buf, std::size_t(count), type, hold), comm, dest, tag);
    });
}

}  // namespace
}  // namespace torusmp::mpi

TORUSMP_ENTRIES(Buffer_attach, (void* buffer, Count size), attach(name, buffer, size))
TORUSMP_ENTRIES(Buffer_detach, (void* buffer_addr, Count* size), detach(name, buffer_addr, size))
TORUSMP_ENTRIES(Bsend,
                (const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm),
                send_buffered(name, buf, count, datatype, dest, tag, comm))
