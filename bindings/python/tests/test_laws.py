from __future__ import annotations

import unittest

from partita import laws


class Laws(unittest.TestCase):
    def test_chi_square_tails_are_those_of_r(self) -> None:
        # pchisq(x, df, lower.tail = FALSE)
        for value, df, wanted in ((3.84, 1, 0.0500435212487052), (7.3, 3, 0.0629262364590432),
                                  (9.1, 4, 0.0586479843303823), (30.0, 11, 0.0015845952573066), (0.0, 2, 1.0), (5.0, 7, 0.6599632296942827825)):
            self.assertAlmostEqual(laws.chi_square_tail(value, df), wanted, delta=1e-14)

        for value, df, wanted in ((2000.0, 1800, 0.0006225977842750469), (1900.0, 1801, 0.0514125718888427397)):
            self.assertAlmostEqual(laws.chi_square_tail(value, df) / wanted, 1, delta=1e-11)

    def test_f_tails_are_those_of_r(self) -> None:
        # pf(x, df1, df2, lower.tail = FALSE)
        for value, top, bottom, wanted in ((2.5, 1, 10, 0.1449276054040804), (2.5, 2, 57, 0.09104796344442825),
                                           (3.25, 3, 57, 0.02827400194952711), (1.75, 4, 1299, 0.1365992910754442),
                                           (2.25, 5, 30, 0.07495839344636109), (0.5, 7, 3, 0.7973063575133492),
                                           (0.0, 2, 9, 1.0)):
            self.assertAlmostEqual(laws.f_tail(value, top, bottom), wanted, delta=1e-12)

    def test_students_quantiles_are_those_of_r(self) -> None:
        # qt(p, df)
        for probability, df, wanted in ((0.975, 1, 12.7062047361747), (0.975, 7, 2.3646242515927844),
                                        (0.95, 10, 1.8124611228116756), (0.975, 1296, 1.9617961223537774),
                                        (0.9995, 100001, 3.2906240304388978), (0.975, 10**7, 1.9599642217672049)):
            self.assertAlmostEqual(laws.student_quantile(probability, df), wanted, delta=1e-11)

    def test_normal(self) -> None:
        self.assertAlmostEqual(laws.normal_quantile(0.975), 1.959963984540054, delta=1e-14)
        self.assertAlmostEqual(laws.normal_cdf(1.0), 0.841344746068543, delta=1e-14)
