! SPDX-License-Identifier: BSD-3-Clause
program client
  use mpi
  implicit none
  integer :: ierr, rank, all
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Allreduce(1, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a,i0)', 'Fortran sum ', all
  call MPI_Finalize(ierr)
end program
