// Where torus-run's own messages and the ranks' tagged lines go: a stream that is never waited for,
// so that a reader who stopped reading cannot keep torus-run from ending the job.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace torusmp::launch {

// Queues text for a descriptor that others share; it is not changed to non-blocking.
class Sink {
  public:
    explicit Sink(int fd) : fd_(fd) {}

    void add(std::string_view text);
    // Writes what the descriptor takes now. False when its reader is gone; the text is dropped.
    bool pump();
    bool empty() const { return pending_.empty(); }
    bool full() const { return pending_.size() > high_water; }
    bool broken() const { return broken_; }
    int fd() const { return fd_; }

  private:
    static constexpr std::size_t high_water = 256 * 1024;

    int fd_;
    bool broken_ = false;
    std::string pending_;
};

// Whether both descriptors lead to one file, pipe or terminal: then their lines must share a Sink.
bool same_file(int a, int b);

// Cuts one stream of one rank into lines and puts "[3] " before each.
class Tagger {
  public:
    explicit Tagger(int rank);

    // Whole lines go out; the rest waits. A line longer than a megabyte is cut.
    void take(std::string_view bytes, Sink& sink);
    // The stream has ended: what is left becomes a line.
    void finish(Sink& sink);

  private:
    static constexpr std::size_t longest_line = std::size_t(1) << 20;

    std::string tag_;
    std::string line_;
};

}  // namespace torusmp::launch
