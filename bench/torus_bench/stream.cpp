// SPDX-License-Identifier: BSD-3-Clause
#include "bench/torus_bench/stream.h"

#include <vector>

namespace torusmp::bench {
namespace {

constexpr std::size_t word_back = 8;
const Body nothing = [](long) {};

}  // namespace

Channel window_of(const Buffer& buffer, Messages window, int peer, bool sending) {
    std::vector<Channel> channels;
    for (int i = 0; i < window.count; ++i) {
        const std::size_t offset = window.bytes * std::size_t(i);
        channels.push_back(sending ? Channel::send_to(buffer, offset, window.bytes, peer)
                                   : Channel::receive_from(buffer, offset, window.bytes, peer));
    }
    return Channel::together(std::move(channels));
}

OneWay::OneWay(const Pair& pair, const Buffer& data, Messages window)
    : pair_(pair), word_(word_back) {
    if (pair.role < 0) return;
    const bool sending = pair.role == 0;
    messages_ = window_of(data, window, pair.other, sending);
    answer_ = sending ? Channel::receive_from(word_, 0, word_back, pair.other)
                      : Channel::send_to(word_, 0, word_back, pair.other);
}

Body OneWay::body() {
    if (pair_.role < 0) return nothing;
    if (pair_.role == 0) return [this](long times) { send(times); };
    return [this](long times) { receive(times); };
}

void OneWay::send(long times) {
    for (long i = 0; i < times; ++i) {
        answer_->start();
        messages_->start();
        messages_->wait();
        answer_->wait();
    }
}

void OneWay::receive(long times) {
    messages_->start();
    for (long i = 0; i < times; ++i) {
        messages_->wait();
        if (i + 1 < times) messages_->start();
        answer_->start();
        answer_->wait();
    }
}

BothWays::BothWays(const Pair& pair, const Buffer& out, const Buffer& in, Messages window) {
    if (pair.role < 0) return;
    receive_ = window_of(in, window, pair.other, false);
    send_ = window_of(out, window, pair.other, true);
}

Body BothWays::body() {
    if (!send_) return nothing;
    return [this](long times) {
        for (long i = 0; i < times; ++i) {
            receive_->start();
            send_->start();
            send_->wait();
            receive_->wait();
        }
    };
}

Body raw_one_way(const Pair& pair, std::span<RawSocket> sockets, const Buffer& data,
                 Messages window) {
    if (pair.role < 0) return nothing;
    return [=, sends = pair.role == 0, bytes = data.data(), spin = spin_time()](long times) {
        std::byte word[word_back]{};
        for (long i = 0; i < times; ++i)
            for (const bool data_goes : {true, false}) {
                RawSocket& socket = sockets[0];
                if (data_goes && sends) socket.start_send(bytes, window.bytes, window.count);
                if (data_goes && !sends) socket.start_receive(bytes, window.bytes, window.count);
                if (!data_goes && sends) socket.start_receive(word, word_back);
                if (!data_goes && !sends) socket.start_send(word, word_back);
                finish(sockets, spin);
            }
    };
}

Body raw_both_ways(const Pair& pair, std::span<RawSocket> sockets, const Buffer& out,
                   const Buffer& in, Messages window) {
    if (pair.role < 0) return nothing;
    return [=, from = out.data(), to = in.data(), spin = spin_time()](long times) {
        for (long i = 0; i < times; ++i) {
            sockets[0].start_receive(to, window.bytes, window.count);
            sockets[0].start_send(from, window.bytes, window.count);
            finish(sockets, spin);
        }
    };
}

}  // namespace torusmp::bench
