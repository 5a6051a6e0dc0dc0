# For the scripts of this folder.
# Wald tests of the terms of several columns: F where df is not NA. slope: by how much the statistic moves, at
# most, for each standard error that every estimate of the term moves.
tests_of <- function(fit, estimate, covariance, kept, df) {
  x <- if (is.null(fit[["x"]])) model.matrix(fit) else fit[["x"]]
  assigned <- attr(x, "assign")[kept]
  labels <- attr(terms(fit), "term.labels")
  one <- function(term) {
    at <- which(assigned == term)
    se <- sqrt(diag(covariance)[at])
    solved <- solve(covariance[at, at], estimate[at])
    w <- sum(estimate[at] * solved)
    k <- length(at)
    sprintf("{\"term\": \"%s\", \"columns\": %d, \"statistic\": %.15g, \"p_value\": %.15g, \"slope\": %.6g}",
      labels[term], k, if (is.na(df)) w else w / k,
      if (is.na(df)) pchisq(w, k, lower.tail = FALSE) else pf(w / k, k, df, lower.tail = FALSE),
      2 * sum(abs(solved) * se))
  }
  several <- unique(assigned[duplicated(assigned)])
  paste0("[", paste(sapply(several, one), collapse = ", "), "]")
}
