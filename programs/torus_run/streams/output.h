// SPDX-License-Identifier: BSD-3-Clause
// Where torus-run's own messages go, and what ranks print through torus-run: streams that are never
// waited for, so that a reader who stopped reading cannot keep torus-run from ending the job. Used
// by the head's one thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::launch {

// Queues text for a descriptor that others share; it is not changed to non-blocking.
class Sink {
  public:
    explicit Sink(int fd) : fd_(fd) {}

    void add(std::string_view text);
    // Writes what the descriptor takes now. False when its reader is gone; the text is dropped.
    // Text for a file that takes no more is dropped too, and later text is tried again.
    bool pump();
    bool empty() const { return pending_.empty(); }
    bool full() const { return pending_.size() > high_water; }
    bool broken() const { return broken_; }
    int fd() const { return fd_; }
    // The errno of a file that took no more; 0: none.
    int error() const { return error_; }

  private:
    static constexpr std::size_t high_water = 256 * 1024;

    void fail(int error);

    int fd_;
    bool broken_ = false;
    int error_ = 0;
    std::string pending_;
};

// Whether both descriptors lead to one file, pipe or terminal: then their lines must share a Sink.
bool same_file(int a, int b);

// Writes the output of one stream of one rank in whole lines, so that lines of different ranks do
// not mix; with "[3] " before each if they are tagged.
class Lines {
  public:
    using Clock = std::chrono::steady_clock;

    Lines(int rank, bool tagged);

    // Writes whole lines; the rest waits. A line that is too long is cut.
    void take(std::string_view bytes, Sink& sink);
    // The stream has ended: the rest goes out; if lines are tagged, as a line.
    void finish(Sink& sink);
    // When an unfinished line has waited long enough, since a program may wait for the answer to
    // it. Nothing: there is none, or it waits for its end.
    std::optional<Clock::time_point> patience_ends() const;

  private:
    void take_tagged(std::string_view bytes, Sink& sink);

    const bool tagged_;
    const std::string tag_;
    std::string line_;
    Clock::time_point begun_;     // when the first of the unfinished line came
    bool whole_buffers_ = false;  // a full buffer cut it: the rest will follow
};

// Standard output and standard error of torus-run, and what to do when their readers are slow or
// gone.
class Outputs {
  public:
    // A slow reader stops the ranks that write, never torus-run; a reader that has gone ends their
    // pipes, as it would without torus-run in between.
    struct Flow {
        virtual void pause(int stream, bool paused) = 0;
        virtual void reader_gone(int stream) = 0;
        virtual ~Flow() = default;
    };

    // file_of: which file a stream of a rank goes to; empty: to ours.
    using FileOf = std::function<std::string(int rank, int stream)>;
    Outputs(Loop& loop, int ranks, bool tag, FileOf file_of, Flow& flow);
    Outputs(const Outputs&) = delete;
    Outputs& operator=(const Outputs&) = delete;
    ~Outputs();

    void say(std::string_view text);
    // Text that a rank printed; an empty text is the end of its stream.
    void take(int rank, int stream, std::string_view text);
    bool paused(int stream) const { return paused_[stream]; }
    // Writes what can be written. After every step of the loop.
    void pump();
    // When pump() has something to do on its own account; nothing: never.
    std::optional<Lines::Clock::time_point> next_tick() const;
    // Whether something that a rank printed could not be written, which is reported once.
    bool lost() const { return lost_; }
    // At the end: what is unfinished goes out too.
    void finish_lines();
    // Waits for the readers until all is written, or until `end` says that nobody waits for it any
    // more: readable, or hung up. False then.
    bool flush(int end);

  private:
    // A file in place of our own streams. Ranks may share one.
    struct File {
        base::Descriptor descriptor;
        std::optional<Sink> sink;
        bool told = false;  // that it cannot be written
    };
    // Null: the stream goes to ours.
    File* file(int rank, int stream);
    void check(const std::string& path, File& file, int error);
    Sink& sink_of(int rank, int stream);
    void pump_of(int rank, int stream);
    Sink& sink(int stream) { return stream == 0 ? *output_ : errors_; }
    void pump_one(Sink& sink);
    void put_out_unfinished(bool all);

    Loop& loop_;
    Flow& flow_;
    Sink own_output_, errors_;
    Sink* output_;  // standard output; shares the other's Sink where both lead to one place
    // Two a rank; none where one rank alone has lines without a tag.
    std::vector<std::optional<Lines>> lines_;
    const bool tag_;
    const FileOf file_of_;
    std::map<std::string, File> files_;  // by path
    std::vector<File*> file_by_stream_;  // two a rank; null: not known yet
    std::set<std::size_t> unfinished_;   // those of `lines_` in which something may wait
    bool paused_[2] = {false, false};
    bool gone_[2] = {false, false};
    bool printed_[2] = {false, false};  // a rank has written there
    bool told_[2] = {false, false};
    bool lost_ = false;
};

}  // namespace torusmp::launch
