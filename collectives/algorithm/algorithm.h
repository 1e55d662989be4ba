// One way to carry a collective out: the steps of a call, whose arguments it finds where it was
// told when it was made. The schedule that it works for makes it once and starts it again and
// again.
#pragma once

#include <memory>

#include "collectives/schedule/scratch.h"
#include "collectives/schedule/steps.h"

namespace torusmp::collectives {

class Algorithm : public Steps {
  public:
    virtual ~Algorithm() = default;
    // Before each call: looks at the arguments and lays out what they need. Posts nothing.
    virtual void start() = 0;

  protected:
    explicit Algorithm(Messages& messages) : Steps(messages) {}
};

// One for calls with such arguments, upon machinery of its own if it needs some.
template <class Arguments, class Machinery = Algorithm>
class AlgorithmOf : public Machinery {
  public:
    AlgorithmOf(Messages& messages, const Arguments& call) : Machinery(messages), call_(call) {}

  protected:
    const Arguments& call_;
};

// How an algorithm is made: what its file has for the operation's table.
template <class Arguments>
using AlgorithmMaker = std::unique_ptr<Algorithm> (*const)(Messages&, const Arguments&);

template <class Type, class Arguments>
std::unique_ptr<Algorithm> make_algorithm(Messages& messages, const Arguments& call) {
    return std::make_unique<Type>(messages, call);
}

}  // namespace torusmp::collectives
