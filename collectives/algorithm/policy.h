// How the collectives of a job go: what the settings say, for groups.
#pragma once

#include <map>

#include "collectives/algorithm/choice.h"

namespace torusmp::collectives {

struct Policy {
    std::map<const AlgorithmTable*, Choice> choices;  // those left out go by their defaults
    bool check = false;  // members compare what they call, before each collective

    const Choice& choice_of(const AlgorithmTable& table) const;
};
// What holds where the settings say nothing.
const Policy& default_policy();

}  // namespace torusmp::collectives
