! SPDX-License-Identifier: BSD-3-Clause
! Sessions, partitioned messages and buffers from Fortran, without MPI_Init. Works on any number of
! processes.
module session_functions
  use mpi
  implicit none
  integer :: handled = 0
contains
  subroutine handle(session, code)
    integer :: session, code
    if (session /= MPI_SESSION_NULL .and. code == MPI_ERR_ARG) handled = handled + 1
  end subroutine
end module

program sessions
  use mpi
  use session_functions
  implicit none
  character(len=MPI_MAX_PSET_NAME_LEN) :: name
  character(len=10) :: text
  integer :: session, handler, group, comm, ierror, length, count, i, me, ranks, info
  integer :: requests(2), number, got, bytes, dummy(1), buffer(400)
  integer :: out(12), in(12)
  logical :: flag

  call MPI_Session_create_errhandler(handle, handler, ierror)
  call MPI_Session_init(MPI_INFO_NULL, handler, session, ierror)
  call check(ierror == MPI_SUCCESS .and. session /= MPI_SESSION_NULL, 'session')
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, count, ierror)
  call check(count >= 3, 'number of sets')
  flag = .false.
  do i = 0, count - 1
    length = 0
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name, ierror)
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, length, name, ierror)
    call check(len_trim(name) == length, 'length of a name')
    flag = flag .or. name == 'torus://HOST'
  end do
  call check(flag, 'torus://HOST')
  call MPI_Session_get_pset_info(session, 'mpi://SELF  ', info, ierror)
  call MPI_Info_get(info, 'mpi_size', 10, text, flag, ierror)
  call check(flag .and. text == '1', 'mpi_size')
  call MPI_Info_free(info, ierror)
  call MPI_Group_from_session_pset(session, 'no such set', group, ierror)
  call check(ierror == MPI_ERR_ARG .and. handled == 1, 'handler')

  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group, ierror)
  call MPI_Comm_create_from_group(group, 'fortran', MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierror)
  call MPI_Group_free(group, ierror)
  call MPI_Comm_rank(comm, me, ierror)
  call MPI_Comm_size(comm, ranks, ierror)

  call MPI_Psend_init(out, 4, 3, MPI_INTEGER, mod(me + 1, ranks), 2, comm, MPI_INFO_NULL, requests(1), ierror)
  call MPI_Precv_init(in, 3, 4, MPI_INTEGER, mod(me + ranks - 1, ranks), 2, comm, MPI_INFO_NULL, requests(2), &
                      ierror)
  call MPI_Startall(2, requests, ierror)
  out = [(100 * me + i, i = 1, 12)]
  call MPI_Pready(3, requests(1), ierror)
  call MPI_Pready_range(0, 1, requests(1), ierror)
  call MPI_Pready_list(1, [2], requests(1), ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Parrived(requests(2), 1, flag, ierror)
  end do
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call check(all(in == [(100 * mod(me + ranks - 1, ranks) + i, i = 1, 12)]), 'partitions')
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)

  call MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0, ierror)
  call MPI_Session_attach_buffer(session, buffer, 1600, ierror)
  number = me
  call MPI_Bsend(number, 1, MPI_INTEGER, mod(me + 1, ranks), 1, comm, ierror)
  call MPI_Comm_iflush_buffer(comm, requests(1), ierror)
  call MPI_Recv(got, 1, MPI_INTEGER, mod(me + ranks - 1, ranks), 1, comm, MPI_STATUS_IGNORE, ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call check(got == mod(me + ranks - 1, ranks), 'buffered')
  call MPI_Comm_detach_buffer(comm, dummy, bytes, ierror)
  call check(bytes == 0, 'automatic')
  call MPI_Session_detach_buffer(session, dummy, bytes, ierror)
  call check(bytes == 1600, 'buffer of the session')

  call MPI_Abi_get_fortran_info(info, ierror)
  call MPI_Info_get(info, 'mpi_integer_size', 10, text, flag, ierror)
  call check(flag .and. text == '4', 'mpi_integer_size')
  call MPI_Info_free(info, ierror)
  call MPI_Comm_free(comm, ierror)
  call MPI_Session_finalize(session, ierror)
  call check(session == MPI_SESSION_NULL, 'null')
  if (me == 0) print '(a)', 'sessions are well'
contains
  subroutine check(true, what)
    logical, intent(in) :: true
    character(len=*), intent(in) :: what
    if (.not. true) then
      print '(2a)', 'not as expected: ', what
      stop 1
    end if
  end subroutine
end program
