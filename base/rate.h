// SPDX-License-Identifier: BSD-3-Clause
// The rate at which one end of a path copies payloads, measured now and then while it copies, and
// published where the other end may read it.
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace torusmp {

// Decides between our way and another one, whose gain over ours changes while a job runs.
class OtherWay {
  public:
    // Returns whether its rate is faster; `gain` is its rate divided by ours. It must be faster by
    // a tenth before it is taken, and slower by a tenth before it is left.
    bool is_faster(double gain) {
        faster_ = gain > (faster_ ? 1 / margin : margin);
        if (!faster_) payloads_ = 0;
        return faster_;
    }
    // While it is faster, some payloads take our way nevertheless, whose rate may have changed or
    // may have been measured with cold caches: the first, fourth, sixteenth and so on, then one of
    // many.
    bool tries_ours() {
        ++payloads_;
        const bool power_of_four =
            std::has_single_bit(payloads_) && std::countr_zero(payloads_) % 2 == 0;
        return power_of_four || payloads_ % 256 == 0;
    }

  private:
    static constexpr double margin = 1.1;

    bool faster_ = false;
    unsigned payloads_ = 0;
};

class Rate {
  public:
    using Clock = std::chrono::steady_clock;

    // Times the first few payloads, and then one of each `every`.
    Rate(std::atomic<std::uint32_t>& published, unsigned every)
        : published_(&published), every_(every) {}
    // Shorter payloads take too little time for the clock.
    static constexpr std::size_t timed_from = 8192;
    // At least a nanosecond, so that it divides.
    static double microseconds(Clock::duration time);
    // In MB/s, which are bytes in a microsecond.
    static double of(std::size_t bytes, Clock::duration time);
    // Returns this if the payload is to be timed, otherwise null.
    Rate* due(std::size_t bytes) {
        if (bytes < timed_from) return nullptr;
        return ++payloads_ % every_ == 0 || samples_ < trusted ? this : nullptr;
    }
    void add(double sample);
    // Lives while a payload is copied; null for one that is not timed.
    class Sample {
      public:
        Sample(Rate* rate, std::size_t bytes)
            : rate_(rate),
              bytes_(bytes),
              begin_(rate != nullptr ? Clock::now() : Clock::time_point{}) {}
        ~Sample() {
            if (rate_ != nullptr) rate_->add(of(bytes_, Clock::now() - begin_));
        }
        Sample(const Sample&) = delete;
        Sample& operator=(const Sample&) = delete;

      private:
        Rate* rate_;
        std::size_t bytes_;
        Clock::time_point begin_;
    };

  private:
    // Samples before the rate is published.
    static constexpr unsigned trusted = 3;

    std::atomic<std::uint32_t>* published_;
    double value_ = 0;
    unsigned samples_ = 0;
    unsigned every_;
    unsigned payloads_ = 0;
};

}  // namespace torusmp
