! fortran_fields.f90 - Fortran: five arrays of one ALLOCATE statement, and two members of one COMMON block.
! Truth: u, v, w, rhs and p are 1, 2, 3, 4 and 5 times 512 KiB, and are used equally often; so are left and right.
! An optional argument is the number of rounds; EXAMPLE_LONGER in the environment multiplies it, as in example.h.
program fortran_fields
   implicit none
   integer, parameter :: points = 65536
   real(8), allocatable, volatile :: u(:), v(:, :), w(:, :), rhs(:, :), p(:, :)
   real(8), volatile :: left(points)
   real(8), volatile :: right(points)
   common /fields/ left, right
   real(8) :: total
   integer :: i, round, rounds, longer, status
   character(len=32) :: text

   rounds = 3000
   if (command_argument_count() > 0) then
      call get_command_argument(1, text)
      read (text, *) rounds
   end if
   call get_environment_variable('EXAMPLE_LONGER', text, status=status)
   if (status == 0) then
      read (text, *) longer
      rounds = rounds * longer
   end if
   allocate (u(points), v(2, points), w(3, points), &
             rhs(4, points), p(5, points), stat=status)
   if (status /= 0) stop 1
   u = 1; v = 2; w = 3; rhs = 4; p = 5
   left = 6; right = 7
   total = 0
   do round = 1, rounds
      do i = 1, points
         u(i) = v(1, i) + w(1, i) + rhs(1, i) + p(1, i) + left(i) + right(i)
      end do
      total = total + u(1)
   end do
   print '(a, es12.4)', 'total ', total
end program fortran_fields
