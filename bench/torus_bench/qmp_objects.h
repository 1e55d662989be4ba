// SPDX-License-Identifier: BSD-3-Clause
// C++ owners of QMP's C handles.
//
// Used by one thread, within the lifetime of one Session. Errors are QmpError with the name of the
// call.
#pragma once

#include <qmp.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace torusmp::bench {

class QmpError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

void check(QMP_status_t status, const char* call);

// Initializes QMP, and finalizes it when destroyed.
class Session {
  public:
    Session(int argc, char** argv);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
};

// A buffer from QMP_allocate_memory, written once so that its pages exist.
class Buffer {
  public:
    explicit Buffer(std::size_t bytes);
    std::byte* data() const;
    std::size_t size() const { return bytes_; }

  private:
    struct Free {
        void operator()(QMP_mem_t* memory) const { QMP_free_memory(memory); }
    };
    std::size_t bytes_;
    std::unique_ptr<QMP_mem_t, Free> memory_;
};

// A declared message, or several as a multiple.
class Channel {
  public:
    // Sends [offset, offset + bytes) of a buffer that must outlive the channel.
    static Channel send_to(const Buffer& buffer, std::size_t offset, std::size_t bytes, int peer);
    static Channel receive_from(const Buffer& buffer, std::size_t offset, std::size_t bytes,
                                int peer);
    // Along an axis of the declared grid, direction +1 or -1.
    static Channel send_relative(const Buffer& buffer, std::size_t bytes, int axis, int direction);
    static Channel receive_relative(const Buffer& buffer, std::size_t bytes, int axis,
                                    int direction);
    static Channel together(std::vector<Channel> channels);

    void start() { check(QMP_start(handle_.get()), "QMP_start"); }
    void wait() { check(QMP_wait(handle_.get()), "QMP_wait"); }
    bool done() { return QMP_is_complete(handle_.get()); }

  private:
    struct Free {
        void operator()(QMP_msghandle_t handle) const { QMP_free_msghandle(handle); }
    };
    Channel(QMP_msghandle_t handle, const char* call);
    std::unique_ptr<QMP_msghandle_struct, Free> handle_;
};

int rank();
int ranks();
void barrier();
double sum_over_ranks(double value);
void sum_over_ranks(std::vector<double>& values);  // as many values on every rank
double maximum_over_ranks(double value);

}  // namespace torusmp::bench
