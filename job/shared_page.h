// SPDX-License-Identifier: BSD-3-Clause
// The memory of this rank's control page, which the launcher's daemon maps too. It has no name, so
// nothing can be left behind, and it cannot shrink, so a process that maps it cannot be killed by
// reading it.
#pragma once

#include "base/descriptor.h"
#include "core/page/control_page.h"

namespace torusmp::job {

class SharedPage {
  public:
    // Without memory the page is missing, and this rank cannot be observed.
    SharedPage();
    ~SharedPage();
    SharedPage(const SharedPage&) = delete;
    SharedPage& operator=(const SharedPage&) = delete;

    core::ControlPage* page() const { return page_; }     // null if there is none
    int descriptor() const { return descriptor_.get(); }  // -1 if there is none

  private:
    base::Descriptor descriptor_;
    core::ControlPage* page_ = nullptr;
};

}  // namespace torusmp::job
