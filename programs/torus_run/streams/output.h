// SPDX-License-Identifier: BSD-3-Clause
// The streams for torus-run's own messages and for the output of ranks that goes through torus-run.
// Writing never blocks, so that a reader that stopped reading cannot keep torus-run from ending the
// job. Used by the head's one thread.
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

namespace torusmp::torus_run {

// Queues text for a shared descriptor, whose blocking mode is not changed.
class Sink {
  public:
    explicit Sink(int fd) : fd_(fd) {}

    void add(std::string_view text);
    // Writes what the descriptor accepts now. Returns false if its reader is gone; the text is
    // dropped. Text for a file that cannot be written is dropped too, but later text is tried
    // again.
    bool pump();
    bool empty() const { return pending_.empty(); }
    bool full() const { return pending_.size() > high_water; }
    bool broken() const { return broken_; }
    int fd() const { return fd_; }
    // The errno of a file that cannot be written; 0 if none.
    int error() const { return error_; }

  private:
    static constexpr std::size_t high_water = 256 * 1024;

    void fail(int error);

    int fd_;
    bool broken_ = false;
    int error_ = 0;
    std::string pending_;
};

// Whether both descriptors refer to one file, pipe or terminal: then their lines must share a Sink.
bool same_file(int a, int b);

// Writes one output stream of one rank in whole lines, so that lines of different ranks do not mix;
// tagged lines begin with "[3] ".
class Lines {
  public:
    using Clock = std::chrono::steady_clock;

    Lines(int rank, bool tagged);

    // Writes whole lines and keeps the rest. Splits a line that is too long.
    void take(std::string_view bytes, Sink& sink);
    // The stream has ended: writes the rest, and completes it to a line if lines are tagged.
    void finish(Sink& sink);
    // When an unfinished line is written, because the program may be prompting for input. Nothing:
    // there is none, or it is known to continue.
    std::optional<Clock::time_point> write_time() const;

  private:
    void take_tagged(std::string_view bytes, Sink& sink);

    const bool tagged_;
    const std::string tag_;
    std::string line_;
    Clock::time_point begun_;     // arrival of the first byte of the unfinished line
    bool whole_buffers_ = false;  // a full buffer cut the line, whose rest will follow
};

// Standard output and standard error of torus-run, with flow control for slow readers and for
// readers that are gone.
class Outputs {
  public:
    // A slow reader blocks the ranks that write, never torus-run; a reader that is gone closes the
    // pipes of the ranks, as it would without torus-run in between.
    struct Flow {
        virtual void pause(int stream, bool paused) = 0;
        virtual void reader_gone(int stream) = 0;
        virtual ~Flow() = default;
    };

    // Returns the file for a stream of a rank; empty for torus-run's own stream.
    using FileOf = std::function<std::string(int rank, int stream)>;
    // With `append`, writes to the end of the files of an earlier start of the job.
    Outputs(Loop& loop, int ranks, bool tag, FileOf file_of, bool append, Flow& flow);
    Outputs(const Outputs&) = delete;
    Outputs& operator=(const Outputs&) = delete;
    ~Outputs();

    void print(std::string_view text);
    // Takes text that a rank printed; an empty text ends its stream.
    void take(int rank, int stream, std::string_view text);
    bool paused(int stream) const { return paused_[stream]; }
    // Writes what can be written. Call after every step of the loop.
    void pump();
    // When pump() must be called again without an event; nullopt if never.
    std::optional<Lines::Clock::time_point> next_tick() const;
    // Whether some output of a rank could not be written; this is reported once.
    bool lost() const { return lost_; }
    // Writes unfinished lines too, at the end.
    void finish_lines();
    // Waits for the readers until everything is written, or until `end` hangs up because the caller
    // is gone. Returns false then.
    bool flush(int end);

  private:
    // A file in place of torus-run's own streams. Ranks may share it.
    struct File {
        base::Descriptor descriptor;
        std::optional<Sink> sink;
        bool reported = false;  // the write error was reported
    };
    // Returns null if the stream goes to torus-run's own.
    File* file(int rank, int stream);
    void check(const std::string& path, File& file, int error);
    Sink& sink_of(int rank, int stream);
    void pump_of(int rank, int stream);
    Sink& sink(int stream) { return stream == 0 ? *output_ : errors_; }
    void pump_one(Sink& sink);
    void flush_unfinished(bool all);

    Loop& loop_;
    Flow& flow_;
    Sink own_output_, errors_;
    Sink* output_;  // standard output; the same Sink as errors_ if both lead to one place
    // Two per rank; empty if only one rank writes, without tags.
    std::vector<std::optional<Lines>> lines_;
    const bool tag_;
    const FileOf file_of_;
    const int if_file_exists_;           // O_APPEND or O_TRUNC
    std::map<std::string, File> files_;  // by path
    std::vector<File*> file_by_stream_;  // two per rank; null if not known yet
    std::set<std::size_t> unfinished_;   // indices in `lines_` that may hold an unfinished line
    bool paused_[2] = {false, false};
    bool gone_[2] = {false, false};
    bool printed_[2] = {false, false};  // a rank has written to it
    bool reported_[2] = {false, false};
    bool lost_ = false;
};

}  // namespace torusmp::torus_run
