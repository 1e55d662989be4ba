// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of one host print, as far as it goes through torus-run: the pipes that they write
// to. Owned by LocalRanks and used by its one thread.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "programs/torus_run/front/job.h"
#include "programs/torus_run/streams/loop.h"

namespace torusmp::launch {

inline constexpr int output_stream = 0;
inline constexpr int errors_stream = 1;
inline constexpr int streams = 2;

class RankStreams {
  public:
    // An empty text is the end of the stream.
    using Printed = std::function<void(std::size_t local_rank, int stream, std::string_view text)>;

    RankStreams(Loop& loop, Capture capture, std::size_t ranks, Printed printed);
    RankStreams(const RankStreams&) = delete;
    RankStreams& operator=(const RankStreams&) = delete;
    ~RankStreams();

    // How many pipes each rank has.
    static int pipes(Capture capture);

    // The rank's ends; nothing for a stream that it shares with torus-run. False: see errno.
    bool open(std::size_t local_rank, std::array<base::Descriptor, streams>& ends);
    // Reads what a rank has written.
    void read(std::size_t local_rank);
    void pause(int stream, bool paused);
    void close(int stream);
    // Once nobody writes any more: takes what is left. False: more will fit when the streams are no
    // longer paused.
    bool drain();

  private:
    base::Descriptor open_pipe(std::size_t local_rank, int stream);
    void read_stream(std::size_t local_rank, int stream);
    void close_stream(std::size_t local_rank, int stream);

    Loop& loop_;
    const Capture capture_;
    const Printed printed_;
    std::vector<std::array<base::Descriptor, streams>> pipes_;
    bool paused_[streams] = {false, false};
};

}  // namespace torusmp::launch
