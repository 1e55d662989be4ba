// SPDX-License-Identifier: BSD-3-Clause
// The memory of this rank's control page, which the launcher's daemon maps too. It has no name, so
// nothing can be left behind, and cannot be made shorter, so nobody who maps it can be killed by
// reading it.
#pragma once

#include "base/descriptor.h"
#include "core/page/control_page.h"

namespace torusmp::job {

class SharedPage {
  public:
    // Without memory for it there is no page, and nobody can look at this rank.
    SharedPage();
    ~SharedPage();
    SharedPage(const SharedPage&) = delete;
    SharedPage& operator=(const SharedPage&) = delete;

    core::ControlPage* page() const { return page_; }     // null: there is none
    int descriptor() const { return descriptor_.get(); }  // -1: likewise

  private:
    base::Descriptor descriptor_;
    core::ControlPage* page_ = nullptr;
};

}  // namespace torusmp::job
