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

// How it is made; each algorithm's file has such a function. The arguments of the calls to come
// stand where `arguments` is.
template <class Arguments>
using MakeAlgorithm = std::unique_ptr<Algorithm>(Messages& messages, const Arguments& arguments);

}  // namespace torusmp::collectives
