# Writes firth.json: logistic regressions with Firth's penalty, as R's logistf and brglm2 define it, by scoring
# with the leverages of rows.
# Rscript tests/references/glm/firth.R > tests/references/glm/firth.json
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
birthwt <- read("gpl/birthwt.csv")

# Everybody of group 1 has an event, and nobody above x = 2 is without one.
separated <- data.frame(x = round(seq(-3, 3, length.out = 60), 3), group = rep(c(0, 0, 0, 1), 15))
separated$y <- as.numeric(separated$group == 1 | separated$x > 2 | seq_len(60) %% 7 == 0)

fits <- list(
  birthwt = list(low ~ age + lwt + factor(race) + smoke + ht + ui, birthwt, "gpl/birthwt.csv"),
  birthwt_small = list(low ~ ht + ui, birthwt, "gpl/birthwt.csv"),
  birthwt_plain = list(low ~ age + ht - 1, birthwt, "gpl/birthwt.csv"),
  birthwt_offset = list(low ~ smoke + ht + offset(log(lwt)), birthwt, "gpl/birthwt.csv"),
  separated = list(y ~ x + group, separated, ""))

firth <- function(x, y, offset) {
  b <- rep(0, ncol(x))
  penalised <- function(b) {
    mu <- plogis(drop(x %*% b) + offset)
    sum(dbinom(y, 1, mu, log = TRUE)) + determinant(crossprod(x, mu * (1 - mu) * x))$modulus / 2
  }
  for (i in 1:1000) {
    mu <- plogis(drop(x %*% b) + offset)
    w <- mu * (1 - mu)
    inverse <- solve(crossprod(x, w * x))
    leverage <- w * rowSums((x %*% inverse) * x)
    step <- drop(inverse %*% crossprod(x, y - mu + leverage * (1 / 2 - mu)))
    while (penalised(b + step) < penalised(b) - 1e-10) step <- step / 2
    b <- b + step
    if (max(abs(step)) < 1e-14) break
  }
  mu <- plogis(drop(x %*% b) + offset)
  list(b = b, covariance = solve(crossprod(x, mu * (1 - mu) * x)), loglik = sum(dbinom(y, 1, mu, log = TRUE)))
}

number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
quoted <- function(x) paste0("\"", x, "\"")
source("tests/references/glm/tests_of.R")
one <- function(name) {
  spec <- fits[[name]]
  frame <- model.frame(spec[[1]], spec[[2]])
  y <- model.response(frame)
  x <- model.matrix(spec[[1]], frame)
  offset <- if (is.null(model.offset(frame))) rep(0, length(y)) else model.offset(frame)
  fit <- firth(x, y, offset)
  error <- sqrt(diag(fit$covariance))
  several <- any(duplicated(attr(x, "assign")))
  fields <- c(
    formula = quoted(paste(deparse(spec[[1]], 200), collapse = "")), family = quoted("binomial"), data = quoted(spec[[3]]),
    estimate = listed(number(fit$b)), standard_error = listed(number(error)),
    p_value = listed(number(2 * pnorm(-abs(fit$b / error)))), deviance = number(-2 * fit$loglik),
    tests = if (several) tests_of(list(x = x, terms = terms(spec[[1]])), fit$b, fit$covariance, rep(TRUE, ncol(x)), NA) else "[]")
  if (name == "separated") fields <- c(fields, x = listed(number(spec[[2]]$x)), group = listed(spec[[2]]$group), y = listed(y))
  body <- paste0("    ", quoted(names(fields)), ": ", fields, collapse = ",\n")
  paste0("  ", quoted(name), ": {\n", body, "\n  }")
}
cat("{\n", paste0(sapply(names(fits), one), collapse = ",\n"), "\n}\n", sep = "")
