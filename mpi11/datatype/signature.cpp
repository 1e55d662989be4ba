// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/datatype/signature.h"

#include <algorithm>

namespace torusmp::mpi {

Signature::Signature(Basic basic) {
    const BasicFacts& is = facts(basic);
    if (is.family == Family::marker) return;
    if (is.family == Family::pair) {
        const Part parts[] = {{Signature(is.value), 1}, {Signature(is.index), 1}};
        *this = Signature(parts);
        return;
    }
    uniform_ = basic;
    bytes_ = is.size;
    elements_ = 1;
}

Signature::Signature(std::span<const Part> parts) {
    auto runs = std::make_shared<Runs>();
    bool same = true;
    for (const auto& [part, count] : parts) {
        if (part.elements_ == 0 || count == 0) continue;
        if (elements_ == 0) uniform_ = part.uniform_;
        same = same && part.uniform_ != Basic::none && part.uniform_ == uniform_;
        Run* const last = runs->empty() ? nullptr : &runs->back();
        if (last != nullptr && part.uniform_ != Basic::none &&
            last->part.uniform_ == part.uniform_) {
            // A run of equal elements is one part.
            last->part = last->part.repeated(last->count);
            last->part.bytes_ += part.bytes_ * count;
            last->part.elements_ += part.elements_ * count;
            last->count = 1;
        } else if (last != nullptr && part.runs_ != nullptr && last->part.runs_ == part.runs_) {
            last->count += count;
        } else {
            runs->push_back({part, count, bytes_, elements_});
        }
        bytes_ += part.bytes_ * count;
        elements_ += part.elements_ * count;
    }
    if (same) return;
    uniform_ = Basic::none;
    runs_ = std::move(runs);
}

Signature Signature::repeated(std::size_t count) const {
    if (count == 1) return *this;
    if (uniform_ == Basic::none) {
        const Part part[] = {{*this, count}};
        return Signature(part);
    }
    Signature result;
    if (count == 0) return result;
    result.uniform_ = uniform_;
    result.bytes_ = bytes_ * count;
    result.elements_ = elements_ * count;
    return result;
}

std::optional<std::size_t> Signature::elements_in(std::size_t message_bytes) const {
    if (message_bytes == 0) return 0;
    if (elements_ == 0) return std::nullopt;
    if (uniform_ != Basic::none) {
        const std::size_t size = facts(uniform_).size;
        if (message_bytes % size != 0) return std::nullopt;
        return message_bytes / size;
    }
    const std::size_t whole = message_bytes / bytes_ * elements_;
    const std::size_t rest = message_bytes % bytes_;
    if (rest == 0) return whole;
    const auto behind =
        std::upper_bound(runs_->begin(), runs_->end(), rest,
                         [](std::size_t byte, const Run& run) { return byte < run.first_byte; });
    const Run& run = *(behind - 1);
    const std::optional<std::size_t> inside = run.part.elements_in(rest - run.first_byte);
    if (!inside) return std::nullopt;
    return whole + run.first_element + *inside;
}

std::size_t Signature::bytes_of(std::size_t elements) const {
    if (elements == 0 || elements_ == 0) return 0;
    if (uniform_ != Basic::none) return elements * facts(uniform_).size;
    const std::size_t whole = elements / elements_ * bytes_;
    const std::size_t rest = elements % elements_;
    if (rest == 0) return whole;
    const auto behind = std::upper_bound(
        runs_->begin(), runs_->end(), rest,
        [](std::size_t element, const Run& run) { return element < run.first_element; });
    const Run& run = *(behind - 1);
    return whole + run.first_byte + run.part.bytes_of(rest - run.first_element);
}

}  // namespace torusmp::mpi
