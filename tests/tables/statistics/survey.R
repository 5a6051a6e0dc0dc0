# survey.dta, by foreign 0.8-84 of Debian 12.
library(foreign)
d <- data.frame(id = 1:6, grp = factor(c("a", "b", "a", "b", "a", NA)),
                x = c(1.5, NA, 3.25, 1 / 3, 1e10, -2), s = c("u", "v", "w", "x", "y", "z z"))
write.dta(d, "survey.dta")
