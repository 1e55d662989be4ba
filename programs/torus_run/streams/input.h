// SPDX-License-Identifier: BSD-3-Clause
// Standard input on its way to a rank 0 on another host: read at the head, a bounded amount ahead,
// and written to the rank's pipe by the daemon there. Each end is used by its daemon's one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::launch {

class InputSource {
  public:
    // `send`: the next bytes; none: the end.
    InputSource(Loop& loop, int fd, std::function<void(std::vector<std::byte>)> send);
    InputSource(const InputSource&) = delete;
    InputSource& operator=(const InputSource&) = delete;
    ~InputSource() { close(); }

    void start();
    void taken(std::size_t bytes);  // they have reached the rank
    void close();                   // the rank reads no more

  private:
    void read_some();
    bool readable() const;

    Loop& loop_;
    int fd_;
    std::function<void(std::vector<std::byte>)> send_;
    std::size_t on_the_way_ = 0;
    bool pollable_ = true;  // a regular file is not: it is always ready
};

class InputSink {
  public:
    struct Listener {
        virtual void input_taken(std::size_t bytes) = 0;
        virtual void input_closed() = 0;
        virtual ~Listener() = default;
    };

    // Makes the pipe; throws std::runtime_error.
    InputSink(Loop& loop, Listener& listener);
    InputSink(const InputSink&) = delete;
    InputSink& operator=(const InputSink&) = delete;
    ~InputSink() { close(); }

    int for_rank() const { return read_end_.get(); }
    // Once the rank has it.
    void let_go() { read_end_.reset(); }
    void take(std::span<const std::byte> bytes);  // none: the end

  private:
    void write_some();
    void close();

    Loop& loop_;
    Listener& listener_;
    base::Descriptor read_end_, write_end_;
    std::vector<std::byte> waiting_;
    bool last_ = false;  // nothing follows what waits
};

}  // namespace torusmp::launch
