// SPDX-License-Identifier: BSD-3-Clause
// Differences between Fortran and C at the beginning and end of a job: no command line, functions
// with values, and common blocks whose addresses have a meaning.
#include "mpi11/fortran/arguments.h"

using torusmp::mpi::CallInC;
using torusmp::mpi::Ierror;

extern "C" {
MPI_Fint torusmp_fbottom_;
MPI_Fint torusmp_finplace_;
MPI_Fint torusmp_fbufferautomatic_;
MPI_Fint torusmp_fstatus_[MPI_F_STATUS_SIZE];
MPI_Fint torusmp_fstatuses_[MPI_F_STATUS_SIZE];
MPI_Fint torusmp_ferrcodes_;
MPI_Fint torusmp_funweighted_;
MPI_Fint torusmp_fweightsempty_;
char torusmp_fargv_;
char torusmp_fargvs_;

void pmpi_init_(Ierror ierror) {
    ierror = PMPI_Init(nullptr, nullptr);
}

void pmpi_init_thread_(const MPI_Fint* required, MPI_Fint* provided, Ierror ierror) {
    ierror = PMPI_Init_thread(nullptr, nullptr, *required, provided);
}

void pmpi_info_create_env_(MPI_Fint* info, Ierror ierror) {
    ierror = PMPI_Info_create_env(0, nullptr, torusmp::mpi::Argument<MPI_Info*>(info).in_c());
}

void pmpi_pcontrol_(const MPI_Fint* level) {
    PMPI_Pcontrol(*level);
}

double pmpi_wtime_() {
    return PMPI_Wtime();
}

double pmpi_wtick_() {
    return PMPI_Wtick();
}

// Fortran 77 cannot receive the address, so only the size is returned.
void pmpi_buffer_detach_(void*, MPI_Fint* size, Ierror ierror) {
    void* buffer = nullptr;
    ierror = PMPI_Buffer_detach(&buffer, size);
}

void pmpi_comm_detach_buffer_(const MPI_Fint* comm, void*, MPI_Fint* size, Ierror ierror) {
    void* buffer = nullptr;
    ierror = PMPI_Comm_detach_buffer(torusmp::mpi::from_fortran<MPI_Comm>(*comm), &buffer, size);
}

void pmpi_session_detach_buffer_(const MPI_Fint* session, void*, MPI_Fint* size, Ierror ierror) {
    void* buffer = nullptr;
    ierror = PMPI_Session_detach_buffer(torusmp::mpi::from_fortran<MPI_Session>(*session), &buffer,
                                        size);
}

// The variants with a TYPE(C_PTR), under the names that the module uses for them.
void pmpi_alloc_mem_cptr_(const MPI_Aint* size, const MPI_Fint* info, void* baseptr,
                          Ierror ierror) {
    ierror = PMPI_Alloc_mem(*size, torusmp::mpi::from_fortran<MPI_Info>(*info), baseptr);
}
void pmpi_win_allocate_cptr_(const MPI_Aint* size, const MPI_Fint* disp_unit, const MPI_Fint* info,
                             const MPI_Fint* comm, void* baseptr, MPI_Fint* win, Ierror ierror) {
    ierror = CallInC<PMPI_Win_allocate>::run(size, disp_unit, info, comm, baseptr, win);
}
void pmpi_win_allocate_shared_cptr_(const MPI_Aint* size, const MPI_Fint* disp_unit,
                                    const MPI_Fint* info, const MPI_Fint* comm, void* baseptr,
                                    MPI_Fint* win, Ierror ierror) {
    ierror = CallInC<PMPI_Win_allocate_shared>::run(size, disp_unit, info, comm, baseptr, win);
}
void pmpi_win_shared_query_cptr_(const MPI_Fint* win, const MPI_Fint* rank, MPI_Aint* size,
                                 MPI_Fint* disp_unit, void* baseptr, Ierror ierror) {
    ierror = CallInC<PMPI_Win_shared_query>::run(win, rank, size, disp_unit, baseptr);
}
}

FORTRAN_NAME_F08(init)
FORTRAN_NAME_F08(init_thread)
FORTRAN_NAME_F08(info_create_env)
FORTRAN_NAME(pcontrol)
FORTRAN_NAME(wtime)
FORTRAN_NAME(wtick)
FORTRAN_NAME(buffer_detach)
FORTRAN_NAME(comm_detach_buffer)
FORTRAN_NAME(session_detach_buffer)
FORTRAN_NAME(alloc_mem_cptr)
FORTRAN_NAME(win_allocate_cptr)
FORTRAN_NAME(win_allocate_shared_cptr)
FORTRAN_NAME(win_shared_query_cptr)

// ---- addresses ----

using torusmp::mpi::CallInC;

extern "C" {
MPI_Aint pmpi_aint_add_(const MPI_Aint* base, const MPI_Aint* disp) {
    return PMPI_Aint_add(*base, *disp);
}

MPI_Aint pmpi_aint_diff_(const MPI_Aint* first, const MPI_Aint* second) {
    return PMPI_Aint_diff(*first, *second);
}
}

FORTRAN_NAME(aint_add)
FORTRAN_NAME(aint_diff)
