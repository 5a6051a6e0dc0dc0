# Writes tables.json: R's t.test, oneway.test, chisq.test, fisher.test, kruskal.test, prop.test and mantelhaen.test on tables of
# tests/tables and on counts that stand here, for tests/stats/tables and tests/methods/describe.
# Rscript tests/references/tables/tables.R > tests/references/tables/tables.json
abalone <- read.csv("tests/tables/abalone.csv")
lung <- read.csv("tests/tables/lgpl/lung.csv")

number <- function(x) ifelse(is.finite(x), sprintf("%.15g", x), "null")
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
object <- function(fields, indent) {
  pad <- strrep(" ", indent)
  paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")
}
rows_of <- function(m) listed(apply(m, 1, function(row) listed(number(row))))
f_test <- function(test) listed(number(c(test$statistic, test$parameter, test$p.value)))
pairs_of <- function(k) combn(k, 2)
# Yang and Dalton (2012).
distance <- function(a, b) {
  if (sum(a) == 0 || sum(b) == 0) return(NA)
  there <- a + b > 0
  p <- (a / sum(a))[there][-1]
  q <- (b / sum(b))[there][-1]
  if (length(p) == 0) return(0)
  covariance <- (diag(p, length(p)) - p %*% t(p) + diag(q, length(q)) - q %*% t(q)) / 2
  sqrt(drop(t(p - q) %*% solve(covariance) %*% (p - q)))
}

means <- function(y, group) {
  keep <- !is.na(y)
  y <- y[keep]
  group <- factor(group[keep])
  m <- cbind(tapply(y, group, length), tapply(y, group, mean), tapply(y, group, sd))
  pooled <- apply(pairs_of(nlevels(group)), 2, function(pair)
    abs(m[pair[1], 2] - m[pair[2], 2]) / sqrt((m[pair[1], 3]^2 + m[pair[2], 3]^2) / 2))
  fields <- c(groups = rows_of(m), differences = listed(number(pooled)),
              welch = f_test(oneway.test(y ~ group)), classic = f_test(oneway.test(y ~ group, var.equal = TRUE)))
  if (nlevels(group) == 2) {
    test <- t.test(y ~ group)
    fields <- c(fields, t = listed(number(c(test$statistic, test$parameter, test$p.value))),
                difference = listed(number(c(m[1, 2] - m[2, 2], test$conf.int))))
  }
  object(fields, 4)
}
ranks <- function(y, group) {
  keep <- !is.na(y)
  y <- y[keep]
  group <- factor(group[keep])
  test <- kruskal.test(y, group)
  fields <- c(counts = rows_of(table(y, group)), statistic = number(unname(test$statistic)),
              p_value = number(test$p.value))
  if (nlevels(group) == 2) {
    wilcoxon <- wilcox.test(y ~ group, exact = FALSE, correct = FALSE)
    fields <- c(fields, wilcoxon_p_value = number(wilcoxon$p.value))
  }
  object(fields, 4)
}
counts <- function(m) {
  kept <- m[rowSums(m) > 0, colSums(m) > 0, drop = FALSE]
  test <- suppressWarnings(chisq.test(kept))
  chi <- f_test(test)
  fields <- c(counts = rows_of(m), chi_square = chi, small = ifelse(any(test$expected < 5), "true", "false"),
              fisher = number(fisher.test(kept, workspace = 2e7)$p.value),
              differences = listed(number(apply(pairs_of(nrow(m)), 2, function(pair) distance(m[pair[1], ], m[pair[2], ])))))
  object(fields, 4)
}
# Reference with events, all; the other group with events, all.
ratios <- function(x) {
  c0 <- x[1]; n0 <- x[2]; c1 <- x[3]; n1 <- x[4]
  z <- qnorm(0.975)
  or <- (c1 / (n1 - c1)) / (c0 / (n0 - c0))
  or_error <- sqrt(1 / c1 + 1 / (n1 - c1) + 1 / c0 + 1 / (n0 - c0))
  rr <- (c1 / n1) / (c0 / n0)
  rr_error <- sqrt(1 / c1 - 1 / n1 + 1 / c0 - 1 / n0)
  interval <- function(e, s) if (is.finite(s)) e * exp(c(-1, 1) * z * s) else c(NA, NA)
  rd <- suppressWarnings(prop.test(c(c1, c0), c(n1, n0), correct = FALSE))
  object(c(table = listed(x), odds_ratio = listed(number(c(or, interval(or, or_error)))),
           risk_ratio = listed(number(c(rr, interval(rr, rr_error)))),
           risk_difference = listed(number(c(c1 / n1 - c0 / n0, rd$conf.int)))), 4)
}
strata <- function(tables) {
  # mantelhaen.test takes rows of the group that is compared first, columns with the event first.
  cells <- array(unlist(lapply(tables, function(x) c(x[3], x[1], x[4] - x[3], x[2] - x[1]))), c(2, 2, length(tables)))
  test <- mantelhaen.test(cells)
  object(c(strata = listed(sapply(tables, listed)), odds_ratio = listed(number(c(test$estimate, test$conf.int))),
           test = listed(number(c(test$statistic, test$parameter, test$p.value)))), 4)
}
of_lung <- function(part) {
  events <- function(sex) c(sum(part$status[part$sex == sex] == 1), sum(part$sex == sex))
  c(events(1), events(2))
}
birthwt <- read.csv("tests/tables/gpl/birthwt.csv")
birthwt_race <- lapply(1:3, function(race) {
  part <- birthwt[birthwt$race == race, ]
  unlist(lapply(0:1, function(smoke) c(sum(part$low[part$smoke == smoke]), sum(part$smoke == smoke))))
})
lung_ecog <- lapply(0:2, function(level) of_lung(lung[!is.na(lung$ph.ecog) & lung$ph.ecog == level, ]))

list_of <- function(...) listed(c(...))
cat(object(c(
  made_with = paste0("\"R ", R.version$major, ".", R.version$minor, ", tests/references/tables/tables.R\""),
  means = list_of(means(abalone$length, abalone$sex), means(abalone$rings, abalone$sex), means(lung$age, lung$sex),
                  means(lung$wt.loss, lung$sex)),
  ranks = list_of(ranks(abalone$rings, abalone$sex), ranks(lung$age, lung$sex), ranks(lung$wt.loss, lung$sex)),
  counts = list_of(counts(matrix(c(12, 5, 7, 9), 2)), counts(matrix(c(120, 135, 71, 96), 2)),
                   counts(matrix(c(0, 9, 14, 8), 2)), counts(matrix(c(3, 8, 11, 4, 9, 2), 2)),
                   counts(matrix(c(30, 22, 15, 31, 18, 44, 25, 25), 2)),
                   counts(matrix(c(7, 3, 4, 6, 2, 9, 5, 8, 1), 3)),
                   counts(matrix(c(17, 20, 0, 0, 12, 9, 6, 15), 2)),
                   counts(matrix(c(5, 0, 9, 6, 0, 2, 4, 0, 7), 3)),
                   counts(unclass(table(lung$sex, lung$ph.ecog)))),
  ratios = list_of(ratios(c(20, 100, 35, 110)), ratios(of_lung(lung)), ratios(c(6, 40, 0, 38)), ratios(c(9, 9, 20, 31))),
  strata = list_of(strata(lung_ecog), strata(birthwt_race), strata(list(c(4, 20, 9, 22), c(0, 11, 3, 9), c(30, 60, 41, 58))))
), 0), "\n", sep = "")
