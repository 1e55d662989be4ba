// SPDX-License-Identifier: BSD-3-Clause
// The type signature of a datatype: the sequence of its basic elements (MPI-1.1, section 3.12).
//
// Stored as a tree of repetitions, so that the signature of a vector of a million structures is as
// small as the signature of one structure. A value, cheap to copy; any thread may read.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mpi11/datatype/basic_types.h"

namespace torusmp::mpi {

class Signature {
  public:
    Signature() = default;  // empty
    // A pair counts as its two elements, as defined by the standard.
    explicit Signature(Basic basic);
    // Signatures one after the other, each with its number of repetitions.
    using Part = std::pair<Signature, std::size_t>;
    explicit Signature(std::span<const Part> parts);
    Signature repeated(std::size_t count) const;

    std::size_t bytes() const { return bytes_; }
    std::size_t elements() const { return elements_; }
    // The one basic type of all elements, or none.
    Basic uniform() const { return uniform_; }

    // The number of basic elements in a message of this size, for any number of elements of this
    // type; empty if the message ends inside a basic element.
    std::optional<std::size_t> elements_in(std::size_t message_bytes) const;
    // The size in bytes of this many basic elements.
    std::size_t bytes_of(std::size_t elements) const;

    // Calls visit(basic, length of the run) for all elements in order.
    template <class Visit>
    void for_each(Visit&& visit) const;

  private:
    struct Run;
    using Runs = std::vector<Run>;

    Basic uniform_ = Basic::none;
    std::size_t bytes_ = 0;
    std::size_t elements_ = 0;
    std::shared_ptr<const Runs> runs_;  // null if uniform or empty
};

struct Signature::Run {
    Signature part;
    std::size_t count;
    std::size_t first_byte;
    std::size_t first_element;
};

template <class Visit>
void Signature::for_each(Visit&& visit) const {
    if (elements_ == 0) return;
    if (uniform_ != Basic::none) return visit(uniform_, elements_);
    for (const Run& run : *runs_)
        for (std::size_t i = 0; i < run.count; ++i) run.part.for_each(visit);
}

}  // namespace torusmp::mpi
