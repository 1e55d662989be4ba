// SPDX-License-Identifier: BSD-3-Clause
// Converts values to bytes and back, for messages between programs of one version on machines of
// one byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace torusmp::base {

class PackingError : public std::runtime_error {
  public:
    PackingError() : std::runtime_error("a message is cut short") {}
};

class Packer {
  public:
    template <class Number>
    requires std::is_arithmetic_v<Number> Packer& add(Number number) {
        return append(std::as_bytes(std::span(&number, 1)));
    }
    Packer& add(std::string_view text) {
        add(std::uint64_t(text.size()));
        return append(std::as_bytes(std::span(text)));
    }
    template <class Item>
    Packer& add(const std::vector<Item>& items) {
        add(std::uint64_t(items.size()));
        for (const Item& item : items) add(item);
        return *this;
    }
    // Appends without a length, to be read with rest().
    Packer& append(std::span<const std::byte> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

// Throws PackingError if the bytes end too early.
class Unpacker {
  public:
    explicit Unpacker(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class Number>
    requires std::is_arithmetic_v<Number> Number get() {
        Number number;
        const auto from = take(sizeof number);
        std::memcpy(&number, from.data(), sizeof number);
        return number;
    }
    std::string text() {
        const auto from = take(get<std::uint64_t>());
        return {reinterpret_cast<const char*>(from.data()), from.size()};
    }
    std::vector<std::string> texts() {
        std::vector<std::string> all(count(sizeof(std::uint64_t)));
        for (std::string& one : all) one = text();
        return all;
    }
    std::vector<int> numbers() {
        std::vector<int> all(count(sizeof(int)));
        for (int& one : all) one = get<int>();
        return all;
    }
    // Reads records that were appended as laid out in memory, after their number.
    template <class Record>
    std::vector<Record> records() {
        std::vector<Record> all(count(sizeof(Record)));
        const auto from = take(all.size() * sizeof(Record));
        if (!all.empty()) std::memcpy(all.data(), from.data(), from.size());
        return all;
    }
    std::span<const std::byte> rest() { return take(bytes_.size()); }
    // Reads a count of items of at least `least` bytes each: a false count must not allocate
    // memory.
    std::size_t count(std::size_t least) {
        const auto items = get<std::uint64_t>();
        if (items > bytes_.size() / least) throw PackingError();
        return std::size_t(items);
    }

  private:
    std::span<const std::byte> take(std::uint64_t count) {
        if (count > bytes_.size()) throw PackingError();
        const auto piece = bytes_.first(std::size_t(count));
        bytes_ = bytes_.subspan(std::size_t(count));
        return piece;
    }

    std::span<const std::byte> bytes_;
};

}  // namespace torusmp::base
