// SPDX-License-Identifier: BSD-3-Clause
// Forwards standard input to a rank 0 on another host: the head reads a bounded amount ahead, and
// the daemon there writes it to the rank's pipe. Each end is used by its daemon's one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_run {

class InputSource {
  public:
    // `send` takes the next bytes; an empty vector ends the stream.
    InputSource(Loop& loop, int fd, std::function<void(std::vector<std::byte>)> send);
    InputSource(const InputSource&) = delete;
    InputSource& operator=(const InputSource&) = delete;
    ~InputSource() { close(); }

    void start();
    void taken(std::size_t bytes);  // they were written to the rank's pipe
    void close();                   // the rank has closed its end

  private:
    void read_some();
    bool readable() const;

    Loop& loop_;
    int fd_;
    std::function<void(std::vector<std::byte>)> send_;
    std::size_t on_the_way_ = 0;
    bool pollable_ = true;  // a regular file is not, and is always ready
};

class InputSink {
  public:
    struct Listener {
        virtual void input_taken(std::size_t bytes) = 0;
        virtual void input_closed() = 0;
        virtual ~Listener() = default;
    };

    // Creates the pipe. Throws std::runtime_error.
    InputSink(Loop& loop, Listener& listener);
    InputSink(const InputSink&) = delete;
    InputSink& operator=(const InputSink&) = delete;
    ~InputSink() { close(); }

    int for_rank() const { return read_end_.get(); }
    // Closes the read end, once the rank has inherited it.
    void close_read_end() { read_end_.reset(); }
    void take(std::span<const std::byte> bytes);  // empty at the end of the stream

  private:
    void write_some();
    void close();

    Loop& loop_;
    Listener& listener_;
    base::Descriptor read_end_, write_end_;
    std::vector<std::byte> waiting_;
    bool last_ = false;  // nothing follows the waiting bytes
};

}  // namespace torusmp::torus_run
