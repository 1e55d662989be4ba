// Where torus-run's own messages go, and what ranks print where it comes through torus-run: streams
// that are never waited for, so that a reader who stopped reading cannot keep torus-run from ending
// the job. Used by the head's one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/torus_run/loop.h"

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

// Standard output and standard error of torus-run, and what to do when their readers are slow or
// gone.
class Outputs {
  public:
    // A slow reader stops the ranks that write, never torus-run; a reader that left ends their
    // pipes, as it would without torus-run between.
    struct Flow {
        virtual void pause(int stream, bool paused) = 0;
        virtual void reader_gone(int stream) = 0;
        virtual ~Flow() = default;
    };

    Outputs(Loop& loop, int ranks, bool tag, Flow& flow);
    Outputs(const Outputs&) = delete;
    Outputs& operator=(const Outputs&) = delete;
    ~Outputs();

    void say(std::string_view text);
    // What a rank printed; an empty text is the end of its stream.
    void take(int rank, int stream, std::string_view text);
    bool paused(int stream) const { return paused_[stream]; }
    // Writes what can be written. After every step of the loop.
    void pump();
    // Waits for the readers until all is written, or until `end` says that nobody waits for it any
    // more: readable, or hung up. False then.
    bool flush(int end);

  private:
    Sink& sink(int stream) { return stream == 0 ? *output_ : errors_; }
    void pump_one(Sink& sink);

    Loop& loop_;
    Flow& flow_;
    Sink own_output_, errors_;
    Sink* output_;  // standard output; shares the other's Sink where both lead to one place
    std::vector<std::optional<Tagger>> taggers_;  // two a rank; none where lines are not tagged
    bool tag_;
    bool paused_[2] = {false, false};
    bool gone_[2] = {false, false};
};

}  // namespace torusmp::launch
