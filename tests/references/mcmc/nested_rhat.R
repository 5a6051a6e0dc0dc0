# Writes nested_rhat.json: nested R-hat (Margossian and others, Bayesian Analysis 2024) as its definition
# has it, without a package, for tests/stats/mcmc/diagnostics_test.cc.
# Rscript tests/references/mcmc/nested_rhat.R > tests/references/mcmc/nested_rhat.json
number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")

# draws: iterations by chains; group: of every chain
nested <- function(draws, group) {
  means <- sapply(split(seq_along(group), group), function(own) mean(draws[, own]))
  within <- sapply(split(seq_along(group), group), function(own) {
    average <- mean(apply(draws[, own, drop = FALSE], 2, var))
    average + if (length(own) > 1) var(colMeans(draws[, own, drop = FALSE])) else 0
  })
  sqrt(1 + var(means) / mean(within))
}

# Halves of the chains of a group are groups of their own; average ranks as normal scores.
ranked <- function(draws, group) {
  half <- nrow(draws) %/% 2
  both <- cbind(draws[1:half, ], draws[(nrow(draws) - half + 1):nrow(draws), ])
  groups <- c(paste(group, "first"), paste(group, "second"))
  scores <- function(x) matrix(qnorm((rank(x) - 3 / 8) / (length(x) + 1 / 4)), nrow(x))
  c(bulk = nested(scores(both), groups), folded = nested(scores(abs(both - median(both))), groups))
}

case <- function(name, draws, superchains) {
  group <- rep(seq_len(superchains), each = ncol(draws) / superchains)
  of_ranks <- ranked(draws, group)
  paste0("  {\"name\": \"", name, "\", \"superchains\": ", superchains, ", \"iterations\": ", nrow(draws),
         ",\n   \"draws\": ", listed(number(c(draws))), ",\n   \"nested\": ", number(nested(draws, group)),
         ", \"bulk\": ", number(of_ranks[["bulk"]]), ", \"folded\": ", number(of_ranks[["folded"]]), "}")
}

set.seed(20240)
starts <- function(k, m) rep(rnorm(k), each = m)
remembering <- function(n, k, m) round(sapply(starts(k, m), function(x) {
  path <- numeric(n)
  for (i in seq_len(n)) path[i] <- x <- 0.8 * x + 0.6 * rnorm(1)
  path
}), 3)
cat("[\n", paste(c(
  case("independent draws", matrix(round(rnorm(10 * 12), 3), 10), 4),
  case("chains that remember their start", remembering(6, 3, 5), 3),
  case("one chain in each superchain", remembering(9, 6, 1), 6),
  case("ties, another scale of one superchain",
       cbind(matrix(round(rnorm(8 * 6)), 8), matrix(round(4 * rnorm(8 * 3)), 8)), 3)), collapse = ",\n"), "\n]\n", sep = "")
