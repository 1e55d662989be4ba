! SPDX-License-Identifier: BSD-3-Clause
! Array sections as buffers of mpi_f08: each call uses their elements in array element order, and
! does not change the elements between. Works on any number of processes.
program f08_sections
  use mpi_f08
  implicit none
  integer :: me, n, left, right

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  left = mod(me + n - 1, n)
  right = mod(me + 1, n)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call rows
  call parts_of_a_plane
  call types_of_the_program
  call many_requests
  call persistent
  call gathered
  call reduced
  call exchanged
  call packed
  call of_no_size
  call of_assumed_size([integer :: 1, 2, 3, 4])
  call mistakes
  call MPI_Barrier(MPI_COMM_WORLD)
  if (me == 0) print *, 'sections are well'
  call MPI_Finalize()
contains
  subroutine check(true, what)
    logical, intent(in) :: true
    character(len=*), intent(in) :: what
    if (true) return
    print *, 'not true: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  ! A matrix whose elements encode the rank that made them and their place.
  function made(rank, first, second) result(matrix)
    integer, intent(in) :: rank, first, second
    integer :: matrix(first, second), i
    matrix = reshape([(1000 * rank + i, i = 1, first * second)], [first, second])
  end function

  subroutine rows
    integer :: a(6, 8), b(6, 8), count
    type(MPI_Status) :: status
    a = made(me, 6, 8)
    b = -1
    call MPI_Sendrecv(a(2, :), 8, MPI_INTEGER, right, 1, b(5, 8:1:-1), 8, MPI_INTEGER, left, 1, MPI_COMM_WORLD, status)
    a = made(left, 6, 8)
    call check(all(b(5, 8:1:-1) == a(2, :)) .and. all(b([1, 2, 3, 4, 6], :) == -1), 'a row, received in reverse')
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 8, 'the count of a section')
    b = -1
    if (me == 0) b(3, ::2) = [1, 2, 3, 4]
    call MPI_Bcast(b(3, ::2), 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(b(3, ::2) == [1, 2, 3, 4]) .and. sum(b) == 10 - 44, 'a row of all')
  end subroutine

  ! Fewer elements than the section has, ending in the middle of a column.
  subroutine parts_of_a_plane
    integer :: a(6, 8), b(6, 8), in(24)
    a = made(me, 6, 8)
    b = -1
    in = -1
    call MPI_Sendrecv(a(1:5:2, 2:7), 10, MPI_INTEGER, right, 1, in, 24, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    a = made(left, 6, 8)
    call check(all(in(1:10) == [a(1:5:2, 2), a(1:5:2, 3), a(1:5:2, 4), a(1, 5)]) .and. all(in(11:) == -1), &
               'part of a plane')
    call MPI_Sendrecv(in, 10, MPI_INTEGER, right, 1, b(1:5:2, 2:7), 18, MPI_INTEGER, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(b(1, 5) /= -1 .and. b(3, 5) == -1 .and. count(b /= -1) == 10, 'part of a plane, received')
  end subroutine

  ! Types count the elements of the section too, not the memory between them.
  subroutine types_of_the_program
    type(MPI_Datatype) :: every_second
    integer :: a(20), b(20), i
    complex(kind(1d0)) :: z(4, 4)
    double precision :: d(6)
    a = [(100 * me + i, i = 1, 20)]
    b = -1
    call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_second)
    call MPI_Type_commit(every_second)
    call MPI_Sendrecv(a(1:20:2), 2, every_second, right, 1, b, 6, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b(1:6) - 100 * left == [1, 5, 9, 11, 15, 19]), 'a type on a section')
    b = -1
    call MPI_Sendrecv(a, 6, MPI_INTEGER, right, 1, b(20:1:-2), 2, every_second, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(b([20, 16, 12, 10, 6, 2]) - 100 * left == [1, 2, 3, 4, 5, 6]) .and. count(b == -1) == 14, &
               'a type on a section, received')
    call MPI_Type_free(every_second)
    ! Two of the type in one element.
    z = (1d0, 2d0) * (me + 1)
    call MPI_Sendrecv(z(2, ::2), 4, MPI_DOUBLE_PRECISION, right, 1, d, 6, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(all(d(:4) == [1, 2, 1, 2] * (left + 1)), 'parts of elements')
  end subroutine

  subroutine many_requests
    integer, parameter :: many = 50
    integer :: a(many, 40), b(many, 40), i
    type(MPI_Request) :: all_of_them(2 * many)
    character(len=3) :: words(6), got(6)
    a = made(me, many, 40)
    b = -1
    do i = 1, many
      call MPI_Irecv(b(i, :), 40, MPI_INTEGER, left, i, MPI_COMM_WORLD, all_of_them(i))
    end do
    do i = 1, many
      call MPI_Isend(a(i, :), 40, MPI_INTEGER, right, i, MPI_COMM_WORLD, all_of_them(many + i))
    end do
    call MPI_Waitall(2 * many, all_of_them, MPI_STATUSES_IGNORE)
    call check(all(b == made(left, many, 40)), 'rows in flight together')
    words = ['abc', 'def', 'ghi', 'jkl', 'mno', 'pqr']
    got = '---'
    call MPI_Sendrecv(words(2:6:2)(2:3), 6, MPI_CHARACTER, right, 1, got(1:6:2), 6, MPI_CHARACTER, left, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check(got(1) == 'efk' .and. got(3) == 'lqr' .and. got(5) == '---' .and. got(2) == '---', 'strings')
  end subroutine

  subroutine persistent
    integer :: a(6, 8), b(6, 8), round
    type(MPI_Request) :: both(2), sum
    integer :: x(9), y(9)
    call MPI_Recv_init(b(2, :), 8, MPI_INTEGER, left, 2, MPI_COMM_WORLD, both(1))
    call MPI_Send_init(a(3, :), 8, MPI_INTEGER, right, 2, MPI_COMM_WORLD, both(2))
    call MPI_Allreduce_init(x(1:9:3), y(2:9:3), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, sum)
    y = -1
    do round = 1, 3
      a = made(me, 6, 8) + round
      x = me + round
      call MPI_Startall(2, both)
      call MPI_Waitall(2, both, MPI_STATUSES_IGNORE)
      call MPI_Start(sum)
      call MPI_Wait(sum, MPI_STATUS_IGNORE)
      a = made(left, 6, 8) + round
      call check(all(b(2, :) == a(3, :)), 'a persistent row')
      call check(all(y(2:9:3) == n * (n - 1) / 2 + n * round) .and. count(y == -1) == 6, 'a persistent sum')
    end do
    call MPI_Request_free(both(1))
    call MPI_Request_free(both(2))
    call MPI_Request_free(sum)
  end subroutine

  ! Blocks of ranks in a section that no single stride describes.
  subroutine gathered
    integer :: all_of_them(5, n, 3), in(5, 2 * n), back(2), i
    integer :: counts(n), places(n)
    type(MPI_Request) :: request
    all_of_them = -1
    call MPI_Allgather([me, me + 10, me + 20], 3, MPI_INTEGER, all_of_them(2, :, :), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(reshape(all_of_them(2, :, :), [3 * n]) == [(i, i + 10, i + 20, i = 0, n - 1)]), 'an allgather')
    call check(count(all_of_them == -1) == 12 * n, 'nothing beside an allgather')
    in = -1
    call MPI_Igather([me, -me], 2, MPI_INTEGER, in(4, :), 2, MPI_INTEGER, 0, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    if (me == 0) call check(all(in(4, :) == [(i, -i, i = 0, n - 1)]), 'a gather')
    call MPI_Scatter(in(4, :), 2, MPI_INTEGER, back, 2, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(back == [me, -me]), 'a scatter')
    counts = 1
    places = [(2 * (n - i), i = 1, n)]
    in = -1
    call MPI_Allgatherv(me, 1, MPI_INTEGER, in(1, :), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(in(1, ::2) == [(n - 1 - i, i = 0, n - 1)]) .and. all(in(1, 2::2) == -1), 'an allgatherv')
    in(3, :) = me
    call MPI_Alltoall(in(3, :), 2, MPI_INTEGER, in(5, :), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(in(5, :) == [(i / 2, i = 0, 2 * n - 1)]), 'an alltoall')
  end subroutine

  ! The two vectors interleave in one array.
  subroutine reduced
    integer :: v(0:19), w(4, 5), total, i
    type(MPI_Request) :: request
    v = -1
    v(0::2) = [(me + i, i = 1, 10)]
    call MPI_Allreduce(v(0::2), v(1::2), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    total = n * (n - 1) / 2
    call check(all(v(1::2) == [(total + n * i, i = 1, 10)]), 'a sum')
    w = me
    call MPI_Iallreduce(MPI_IN_PLACE, w(2:3, :), 10, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(w(2:3, :) == n - 1) .and. all(w([1, 4], :) == me), 'a maximum in place')
    call MPI_Reduce(w(1, :), v(::4), 5, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (me == 0) call check(all(v(::4) == total), 'a sum at the root')
    call MPI_Reduce_local(w(2, :), w(1, :), 5, MPI_INTEGER, MPI_SUM)
    call check(all(w(1, :) == me + n - 1), 'a local sum')
  end subroutine

  subroutine exchanged
    integer :: a(3, n), b(3, n), counts(n), places(n), i
    type(MPI_Datatype) :: types(n)
    a = me
    b = -1
    counts = 1
    places = [(4 * i, i = 0, n - 1)]
    types = MPI_INTEGER
    call MPI_Alltoallw(a(1, :), counts, places, types, b(2, :), counts, places, types, MPI_COMM_WORLD)
    call check(all(b(2, :) == [(i, i = 0, n - 1)]) .and. all(b([1, 3], :) == -1), 'an alltoallw')
  end subroutine

  subroutine packed
    integer :: a(4, 3), position
    integer(1) :: room(2, 100)
    a = made(me, 4, 3)
    room = 0
    position = 0
    call MPI_Pack(a(2, :), 3, MPI_INTEGER, room(1, :), 100, position, MPI_COMM_WORLD)
    call check(position == 12 .and. all(room(2, :) == 0), 'a packed row')
    position = 0
    call MPI_Unpack(room(1, :), 100, position, a(4, 3:1:-1), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(a(4, 3:1:-1) == a(2, :)), 'an unpacked row')
  end subroutine

  subroutine of_no_size
    integer :: a(4, 3), b(0)
    type(MPI_Request) :: request
    a = 7
    call MPI_Isend(a(2, 3:1), 0, MPI_INTEGER, me, 1, MPI_COMM_WORLD, request)
    call MPI_Recv(b, 0, MPI_INTEGER, me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Bcast(a(2, :), 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Allreduce(a(1:4:2, 3:2), a(1:4:2, 1:0), 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(a == 7), 'sections of no size')
  end subroutine

  subroutine of_assumed_size(x)
    integer, intent(in) :: x(*)
    integer :: got(4)
    call MPI_Sendrecv(x, 4, MPI_INTEGER, right, 1, got, 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(got == [1, 2, 3, 4]), 'an array of assumed size')
    call MPI_Sendrecv(x(1:4:2), 2, MPI_INTEGER, right, 1, got, 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(got(:2) == [1, 3]), 'a section of an array of assumed size')
  end subroutine

  ! A section with fewer elements than the call asks for, and one where a block of memory is needed.
  subroutine mistakes
    integer :: a(4, 3), code, class
    call MPI_Send(a(2, :), 4, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
    call MPI_Send(a(2, :), 4, MPI_INTEGER, me, 0, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_BUFFER, 'a section that is too small')
    call MPI_Buffer_attach(a(2, :), 12, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_BUFFER, 'a section as a buffer for sends')
  end subroutine
end program
