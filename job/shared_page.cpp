// SPDX-License-Identifier: BSD-3-Clause
#include "job/shared_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace torusmp::job {

using core::ControlPage;

SharedPage::SharedPage()
    : descriptor_(memfd_create("torusmp-control-page", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (!descriptor_ || ftruncate(descriptor_.get(), sizeof(ControlPage)) != 0 ||
        fcntl(descriptor_.get(), F_ADD_SEALS, seals) != 0)
        return;
    void* const memory = mmap(nullptr, sizeof(ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED,
                              descriptor_.get(), 0);
    if (memory == MAP_FAILED) return;
    page_ = ::new (memory) ControlPage();
}

SharedPage::~SharedPage() {
    if (page_ != nullptr) munmap(page_, sizeof(ControlPage));
}

}  // namespace torusmp::job
