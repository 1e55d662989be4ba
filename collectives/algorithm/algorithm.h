// SPDX-License-Identifier: BSD-3-Clause
// One algorithm of a collective: it carries out the steps of a call. A schedule creates an
// algorithm once, with a reference to the arguments, and restarts it for every call.
#pragma once

#include <memory>

#include "collectives/schedule/scratch.h"
#include "collectives/schedule/steps.h"

namespace torusmp::collectives {

class Algorithm : public Steps {
  public:
    virtual ~Algorithm() = default;
    // Called before each call: reads the arguments and prepares what they need. Posts nothing.
    virtual void start() = 0;

  protected:
    explicit Algorithm(Messages& messages) : Steps(messages) {}
};

// An algorithm for calls with these arguments. Machinery: a base class shared with other
// algorithms.
template <class Arguments, class Machinery = Algorithm>
class AlgorithmOf : public Machinery {
  public:
    AlgorithmOf(Messages& messages, const Arguments& call) : Machinery(messages), call_(call) {}

  protected:
    const Arguments& call_;
};

// The factory of an algorithm, exported by its file to the operation's table.
template <class Arguments>
using AlgorithmMaker = std::unique_ptr<Algorithm> (*const)(Messages&, const Arguments&);

template <class Type, class Arguments>
std::unique_ptr<Algorithm> make_algorithm(Messages& messages, const Arguments& call) {
    return std::make_unique<Type>(messages, call);
}

}  // namespace torusmp::collectives
