! SPDX-License-Identifier: BSD-3-Clause
! Files from Fortran: names with blanks, offsets, views, error handlers, data representations. Works
! on any number of processes.
module file_functions
  use mpi
  implicit none
  integer :: handled = 0
contains
  subroutine handle(file, code)
    integer :: file, code
    if (file == MPI_FILE_NULL .and. code == MPI_ERR_NO_SUCH_FILE) handled = handled + 1
  end subroutine
  subroutine extent_of(datatype, extent, extra, ierror)
    integer :: datatype, ierror
    integer(MPI_ADDRESS_KIND) :: extent, extra
    extent = extra
    ierror = MPI_SUCCESS
  end subroutine
end module

program files
  use mpi
  use file_functions
  implicit none
  character(len=200) :: path
  character(len=20) :: representation
  integer :: ierror, me, ranks, file, handler, found, i
  integer :: status(MPI_STATUS_SIZE), request, etype, filetype
  integer(MPI_OFFSET_KIND) :: offset, displacement
  integer(MPI_ADDRESS_KIND) :: extra = 4, extent
  integer :: mine(10), theirs(10)
  logical :: flag

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call system_clock(i)
  call MPI_Bcast(i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  write (path, '(a,i0,a,i0)') '/tmp/torusmp_fortran_', i, '_', ranks

  call MPI_File_create_errhandler(handle, handler, ierror)
  call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierror)
  call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierror)
  call check(ierror == MPI_ERR_NO_SUCH_FILE .and. handled == 1 .and. file == MPI_FILE_NULL, 1)
  call MPI_File_open(MPI_COMM_WORLD, path, ior(MPI_MODE_RDWR, ior(MPI_MODE_CREATE, &
      MPI_MODE_DELETE_ON_CLOSE)), MPI_INFO_NULL, file, ierror)
  call check(ierror == MPI_SUCCESS .and. file /= MPI_FILE_NULL, 2)
  call MPI_File_get_errhandler(file, found, ierror)
  call check(found == handler, 3)
  call MPI_Errhandler_free(found, ierror)
  call MPI_Errhandler_free(handler, ierror)
  call MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL, ierror)

  displacement = 8
  call MPI_File_set_view(file, displacement, MPI_INTEGER, MPI_INTEGER, 'native  ', MPI_INFO_NULL, &
      ierror)
  call MPI_File_get_view(file, offset, etype, filetype, representation, ierror)
  call check(offset == 8 .and. etype == MPI_INTEGER .and. representation == 'native', 4)
  mine = [(100 * me + i, i = 1, 10)]
  offset = 10 * me
  call MPI_File_write_at_all(file, offset, mine, 10, MPI_INTEGER, status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, i, ierror)
  call check(i == 10, 5)
  offset = 10 * mod(me + 1, ranks)
  call MPI_File_seek(file, offset, MPI_SEEK_SET, ierror)
  call MPI_File_iread(file, theirs, 10, MPI_INTEGER, request, ierror)
  call MPI_Wait(request, status, ierror)
  call check(all(theirs == [(100 * mod(me + 1, ranks) + i, i = 1, 10)]), 6)
  call MPI_File_get_position(file, offset, ierror)
  call check(offset == 10 * mod(me + 1, ranks) + 10, 7)
  call MPI_File_get_size(file, offset, ierror)
  call check(offset == 8 + 40 * ranks, 8)
  call MPI_File_set_atomicity(file, .true., ierror)
  call MPI_File_get_atomicity(file, flag, ierror)
  call check(flag, 9)
  call MPI_Register_datarep('plain', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, &
      extra, ierror)
  call check(ierror == MPI_SUCCESS, 10)
  displacement = 0
  call MPI_File_set_view(file, displacement, MPI_INTEGER, MPI_INTEGER, 'plain', MPI_INFO_NULL, &
      ierror)
  call MPI_File_get_type_extent(file, MPI_INTEGER, extent, ierror)
  call check(extent == 4, 11)
  offset = 2
  call MPI_File_read_at(file, offset, theirs, 10, MPI_INTEGER, status, ierror)
  call check(all(theirs == [(i, i = 1, 10)]), 12)
  call MPI_File_write_ordered(file, mine, 10, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
  call MPI_File_get_position_shared(file, offset, ierror)
  call check(offset == 10 * ranks, 13)
  call MPI_File_close(file, ierror)
  call check(file == MPI_FILE_NULL, 14)
  call MPI_Finalize(ierror)
  if (me == 0) print '(a)', 'files are well'
contains
  subroutine check(condition, number)
    logical, intent(in) :: condition
    integer, intent(in) :: number
    if (condition) return
    print '(a,i0,a,i0)', 'not as expected on rank ', me, ': check ', number
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end subroutine
end program
