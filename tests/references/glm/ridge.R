# Writes ridge.json: regressions with a ridge on tables of tests/tables, for tests/methods/glm, by penalised iteratively
# reweighted least squares written here. Of n rows the penalty on half the deviance is n lambda / 2 times the sum of
# (s_j b_j)^2, s_j the largest magnitude within the bounds of column j (tests/methods/glm/tables.h), not of the intercept.
# Standard errors: the roots of the diagonal of the dispersion times (I + n lambda diag(s^2))^-1, of robust errors with the
# scores' cross products between two of these; dispersion Pearson's sum over n - p.
# Rscript tests/references/glm/ridge.R > tests/references/glm/ridge.json
source("tests/references/glm/tests_of.R")
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
birthwt <- read("gpl/birthwt.csv")
quine <- read("gpl/quine.csv")
abalone <- read("abalone.csv")
b <- "gpl/birthwt.csv"

cases <- list(
  logistic = list(low ~ age + lwt + factor(race) + smoke, binomial(), b, ridge = 0.01, scale = c(age = 50, lwt = 300)),
  logistic_strong = list(low ~ age + smoke + ht, binomial(), b, ridge = 0.5, scale = c(age = 50)),
  logistic_robust = list(low ~ age + smoke + ht, binomial(), b, ridge = 0.02, scale = c(age = 50), errors = "robust"),
  counts = list(Days ~ Sex + Age + Eth + Lrn, poisson(), "gpl/quine.csv", ridge = 0.1),
  gaussian = list(rings ~ sex + length, gaussian(), "abalone.csv", ridge = 0.05),
  gamma = list(rings ~ shell_weight, Gamma("log"), "abalone.csv", ridge = 0.01, scale = c(shell_weight = 1.2)),
  plain = list(lwt ~ age + smoke - 1, gaussian(), b, ridge = 0.02, scale = c(age = 50)))

number <- function(x) if (is.null(x) || is.na(x)) "null" else sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(sapply(x, number), collapse = ", "), "]")
quoted <- function(x) if (is.null(x)) "null" else paste0("\"", x, "\"")

fitted_case <- function(case) {
  data <- get(sub("\\.csv", "", basename(case[[3]])))
  law <- case[[2]]
  x <- model.matrix(case[[1]], data)
  y <- model.response(model.frame(case[[1]], data))
  n <- nrow(x)
  p <- ncol(x)
  scale <- setNames(rep(1, p), colnames(x))
  scale[names(case$scale)] <- case$scale
  penalty <- n * case$ridge * scale^2
  if ("(Intercept)" %in% colnames(x)) penalty["(Intercept)"] <- 0
  beta <- setNames(rep(0, p), colnames(x))
  mu <- if (law$family == "binomial") (y + 0.5) / 2 else y + 0.1
  eta <- law$linkfun(mu)
  for (step in 1:500) {
    d <- law$mu.eta(eta)
    w <- d^2 / law$variance(mu)
    z <- eta + (y - mu) / d
    new <- drop(solve(crossprod(x, x * w) + diag(penalty, p), crossprod(x, w * z)))
    moved <- max(abs(new - beta))
    beta <- new
    eta <- drop(x %*% beta)
    mu <- law$linkinv(eta)
    if (moved < 1e-13) break
  }
  d <- law$mu.eta(eta)
  w <- d^2 / law$variance(mu)
  inverse <- solve(crossprod(x, x * w) + diag(penalty, p))
  dispersed <- law$family %in% c("gaussian", "Gamma")
  errors <- if (is.null(case$errors)) "model" else case$errors
  dispersion <- sum((y - mu)^2 / law$variance(mu)) / (n - p)
  covariance <- if (errors == "robust") inverse %*% crossprod(x * (d * (y - mu) / law$variance(mu))) %*% inverse else
    inverse * (if (dispersed) dispersion else 1)
  df <- if (dispersed) n - p else NA
  se <- sqrt(diag(covariance))
  statistic <- beta / se
  width <- se * (if (is.na(df)) qnorm(0.975) else qt(0.975, df))
  fit <- list(x = x, terms = terms(case[[1]], data = data))
  fields <- c(
    formula = quoted(paste(deparse(case[[1]], 200), collapse = "")), family = quoted(tolower(law$family)),
    link = "null", data = quoted(case[[3]]), errors = quoted(errors), ridge = number(case$ridge),
    rows = number(n), df = number(df), estimate = listed(beta), standard_error = listed(se),
    p_value = listed(2 * (if (is.na(df)) pnorm(-abs(statistic)) else pt(-abs(statistic), df))),
    tests = tests_of(fit, beta, covariance, rep(TRUE, p), df), lower = listed(beta - width), upper = listed(beta + width),
    dispersion = number(if (dispersed) dispersion),
    deviance = number(sum(law$dev.resids(y, mu, rep(1, n)))))
  paste0("    ", "\"", names(fields), "\": ", fields, collapse = ",\n")
}
cat("{\n", paste0("  \"", names(cases), "\": {\n", sapply(cases, fitted_case), "\n  }", collapse = ",\n"), "\n}\n", sep = "")
