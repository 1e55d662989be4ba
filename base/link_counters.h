// SPDX-License-Identifier: BSD-3-Clause
// The kernel's counters of the network devices of this host: packets and errors.
//
// read_counters() asks the kernel, by netlink, so that it sees the network namespace it runs in.
// The rest are plain values; any thread may call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace torusmp::base {

// The counters of /sys/class/net/DEVICE/statistics, with the same names but 32 bits wide: they wrap
// around, and only differences are meaningful.
class LinkCounters {
  public:
    enum Counter : std::size_t {
        rx_packets,
        tx_packets,
        rx_errors,  // all receive errors: checksum, length, framing
        tx_errors,
        rx_crc_errors,
        rx_dropped,
        tx_dropped,
        tx_carrier_errors,
        count
    };
    static constexpr std::array<std::string_view, count> names = {
        "rx_packets",    "tx_packets", "rx_errors",  "tx_errors",
        "rx_crc_errors", "rx_dropped", "tx_dropped", "tx_carrier_errors"};

    std::uint32_t operator[](Counter which) const { return values_[which]; }
    void set(std::size_t which, std::uint32_t value) { values_[which] = value; }
    const std::array<std::uint32_t, count>& values() const { return values_; }

    // The increase of each counter since `before`.
    LinkCounters since(const LinkCounters& before) const;
    // Packets damaged by a cable, or by a device at one of its ends: load alone does not cause
    // these.
    std::uint32_t damaged() const;
    std::uint32_t packets() const { return values_[rx_packets] + values_[tx_packets]; }
    // "12 rx_errors (12 rx_crc_errors), 3 tx_dropped"; empty without errors.
    std::string describe() const;

    friend bool operator==(const LinkCounters&, const LinkCounters&) = default;

  private:
    std::array<std::uint32_t, count> values_{};
};

// The counters of all devices, by name. Throws std::system_error if the kernel does not answer.
std::map<std::string, LinkCounters> read_counters();

}  // namespace torusmp::base
