# Writes more.json: negative binomial, proportional odds and multinomial regressions as MASS' glm.nb and polr
# and nnet's multinom define them, by Newton's method of newton.R.
# Rscript tests/references/glm/more.R > tests/references/glm/more.json
source("tests/references/glm/newton.R")
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
birthwt <- read("gpl/birthwt.csv")
quine <- read("gpl/quine.csv")
abalone <- read("abalone.csv")

fits <- list(
  quine_negbin = list(Days ~ Sex + Age + Eth + Lrn, "negative-binomial", quine, "gpl/quine.csv"),
  quine_negbin_interaction = list(Days ~ Eth * Lrn + Sex, "negative-binomial", quine, "gpl/quine.csv"),
  quine_negbin_plain = list(Days ~ 1, "negative-binomial", quine, "gpl/quine.csv"),
  quine_odds = list(Age ~ Eth + Sex + Days, "ordinal", quine, "gpl/quine.csv"),
  quine_odds_offset = list(Age ~ Sex + offset(log1p(Days)), "ordinal", quine, "gpl/quine.csv"),
  birthwt_odds = list(factor(race) ~ age + smoke + lwt, "ordinal", birthwt, "gpl/birthwt.csv"),
  abalone_odds = list(sex ~ length + shell_weight, "ordinal", abalone, "abalone.csv"),
  quine_levels = list(Age ~ Sex + Days, "multinomial", quine, "gpl/quine.csv"),
  birthwt_levels = list(factor(race) ~ age + smoke, "multinomial", birthwt, "gpl/birthwt.csv"),
  abalone_levels_plain = list(sex ~ length + whole_weight - 1, "multinomial", abalone, "abalone.csv"),
  quine_levels_factor = list(Age ~ Eth * Sex, "multinomial", quine, "gpl/quine.csv"))

clusters <- c("gpl/quine.csv" = "Days", "gpl/birthwt.csv" = "age", "abalone.csv" = "rings")

number <- function(x) ifelse(is.na(x), "null", sprintf("%.15g", x))
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
quoted <- function(x) paste0("\"", x, "\"")

# Wald tests of terms of several coefficients (as tests_of.R).
tests <- function(fit, label, places) {
  one <- function(term) {
    at <- places[[term]]
    solved <- solve(fit$covariance[at, at], fit$b[at])
    w <- sum(fit$b[at] * solved)
    sprintf("{\"term\": \"%s\", \"columns\": %d, \"statistic\": %.15g, \"p_value\": %.15g, \"slope\": %.6g}",
      label[term], length(at), w, pchisq(w, length(at), lower.tail = FALSE),
      2 * sum(abs(solved) * sqrt(diag(fit$covariance)[at])))
  }
  several <- which(lengths(places) > 1)
  paste0("[", paste(sapply(several, one), collapse = ", "), "]")
}

one <- function(name) {
  spec <- fits[[name]]
  frame <- model.frame(spec[[1]], spec[[3]])
  y <- model.response(frame)
  x <- model.matrix(spec[[1]], frame)
  assigned <- attr(x, "assign")
  family <- spec[[2]]
  if (family == "ordinal") x <- x[, assigned > 0, drop = FALSE]
  if (family == "ordinal") assigned <- assigned[assigned > 0]
  offset <- if (is.null(model.offset(frame))) rep(0, length(y)) else model.offset(frame)
  if (family != "negative-binomial") y <- as.integer(y) - 1
  fit <- switch(family, "negative-binomial" = negative_binomial, ordinal = ordinal, multinomial = multinomial)(x, y, offset)
  label <- attr(terms(spec[[1]]), "term.labels")
  times <- if (family == "multinomial") max(y) else 1
  places <- lapply(seq_along(label), function(term)
    as.vector(outer(which(assigned == term), (seq_len(times) - 1) * ncol(x), "+")))
  error <- sqrt(diag(fit$covariance))
  # As sandwich::sandwich(fit) and vcovCL(fit, cluster, type = "HC0"); clusters lie within the holders of errors.R.
  sandwich <- function(scores) sqrt(diag(fit$covariance %*% crossprod(scores) %*% fit$covariance))
  cluster <- clusters[[spec[[4]]]]
  by_cluster <- rowsum(fit$scores, paste(spec[[3]][[cluster]], (seq_along(y) - 1) %% 2))
  groups <- nrow(by_cluster)
  fields <- c(
    robust_error = listed(number(sandwich(fit$scores))), cluster = quoted(cluster), clusters = number(groups),
    cluster_error = listed(number(sqrt(groups / (groups - 1)) * sandwich(by_cluster))),
    formula = quoted(paste(deparse(spec[[1]], 200), collapse = "")), family = quoted(family), data = quoted(spec[[4]]),
    estimate = listed(number(fit$b)), standard_error = listed(number(error)),
    p_value = listed(number(2 * pnorm(-abs(fit$b / error)))), deviance = number(fit$deviance),
    df_residual = number(length(y) - length(fit$b)), aic = number(2 * fit$parameters - 2 * fit$loglik),
    log_likelihood = number(fit$loglik), theta = number(fit$theta), theta_error = number(fit$theta_error),
    tests = tests(fit, label, places))
  body <- paste0("    ", quoted(names(fields)), ": ", fields, collapse = ",\n")
  paste0("  ", quoted(name), ": {\n", body, "\n  }")
}
cat("{\n", paste0(sapply(names(fits), one), collapse = ",\n"), "\n}\n", sep = "")
