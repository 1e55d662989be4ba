! SPDX-License-Identifier: BSD-3-Clause
! mpif.h in free form.
program header
  implicit none
  include 'mpif.h'
  integer :: ierr, status(MPI_STATUS_SIZE), class, inter
  call MPI_INIT(ierr)
  call MPI_RECV(MPI_BOTTOM, 0, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status, ierr)
  call MPI_COMM_SET_ERRHANDLER(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_COMM_SPAWN('worker', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, &
                      MPI_ERRCODES_IGNORE, ierr)
  call MPI_ERROR_CLASS(ierr, class, ierr)
  if (class /= MPI_ERR_SPAWN) print *, 'not as expected: class', class
  if (status(MPI_TAG) == MPI_ANY_TAG) print *, 'mpif.h is well'
  call MPI_FINALIZE(ierr)
end program
