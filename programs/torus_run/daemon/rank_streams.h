// SPDX-License-Identifier: BSD-3-Clause
// The pipes for the output of one host's ranks, for streams that go through torus-run. Owned by
// LocalRanks and used by its one thread.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/front/job.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::torus_run {

inline constexpr int output_stream = 0;
inline constexpr int errors_stream = 1;
inline constexpr int streams = 2;

class RankStreams {
  public:
    // An empty text ends the stream.
    using Printed = std::function<void(std::size_t local_rank, int stream, std::string_view text)>;

    RankStreams(Loop& loop, Capture capture, std::size_t ranks, Printed printed);
    RankStreams(const RankStreams&) = delete;
    RankStreams& operator=(const RankStreams&) = delete;
    ~RankStreams();

    // The number of pipes for each rank.
    static int pipes(Capture capture);

    // Sets the rank's ends; none for a stream that it shares with torus-run. Returns false on
    // error, with errno set.
    bool open(std::size_t local_rank, std::array<base::Descriptor, streams>& ends);
    // Reads and forwards the output of a rank.
    void read(std::size_t local_rank);
    void pause(int stream, bool paused);
    void close(int stream);
    // Reads the rest, once all writers have closed their ends. Returns false if more is left and
    // the streams are paused.
    bool drain();

  private:
    struct Pipe {
        base::Descriptor end;
        bool rests = false;
    };

    base::Descriptor open_pipe(std::size_t local_rank, int stream);
    void arrived(std::size_t local_rank, int stream);
    void rest(Pipe& pipe);
    void end_rests();
    // Returns the number of bytes read.
    std::size_t read_stream(std::size_t local_rank, int stream);
    void close_stream(std::size_t local_rank, int stream);

    Loop& loop_;
    const Capture capture_;
    const Printed printed_;
    std::vector<std::array<Pipe, streams>> pipes_;
    base::Descriptor rest_timer_;
    bool some_rest_ = false;
    bool paused_[streams] = {false, false};
};

}  // namespace torusmp::torus_run
