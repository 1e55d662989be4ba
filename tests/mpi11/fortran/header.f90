! SPDX-License-Identifier: BSD-3-Clause
! mpif.h in free form.
program header
  implicit none
  include 'mpif.h'
  integer :: ierr, status(MPI_STATUS_SIZE)
  call MPI_INIT(ierr)
  call MPI_RECV(MPI_BOTTOM, 0, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status, ierr)
  if (status(MPI_TAG) == MPI_ANY_TAG) print *, 'mpif.h is well'
  call MPI_FINALIZE(ierr)
end program
