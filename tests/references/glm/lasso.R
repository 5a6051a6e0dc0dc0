# Writes lasso.json: lassos of generalised linear models, D(b) / 2 + n penalty sum of s |b| least over all coefficients
# but the intercept, s the largest magnitude within the bounds of a column. Accelerated proximal gradients, then
# Newton's method on what is not 0; the conditions of a minimum are checked.
# Rscript tests/references/glm/lasso.R > tests/references/glm/lasso.json
birthwt <- read.csv("tests/tables/gpl/birthwt.csv")
quine <- read.csv("tests/tables/gpl/quine.csv")
abalone <- read.csv("tests/tables/abalone.csv")
mean_of <- list(binomial = plogis, poisson = exp, gaussian = identity)
weight_of <- list(binomial = function(m) m * (1 - m), poisson = identity, gaussian = function(m) rep(1, length(m)))
deviance_of <- function(family, y, m) sum(get(family)()$dev.resids(y, m, rep(1, length(y))))
minimum <- function(x, y, family, penalty) {
  mean <- mean_of[[family]]
  score <- function(b) drop(crossprod(x, y - mean(drop(x %*% b))))
  half <- function(b) deviance_of(family, y, mean(drop(x %*% b))) / 2
  soft <- function(z, l) sign(z) * pmax(abs(z) - l, 0)
  start <- switch(family, gaussian = base::mean(y), poisson = log(base::mean(y)), binomial = qlogis(base::mean(y)))
  b <- ahead <- c(start, rep(0, ncol(x) - 1))
  size <- 1e-3
  t <- 1
  for (i in 1:4000) {
    u <- score(ahead)
    repeat {
      to <- soft(ahead + size * u, size * penalty)
      d <- to - ahead
      if (half(to) <= half(ahead) - sum(u * d) + sum(d^2) / (2 * size) + 1e-12) break
      size <- size / 2
    }
    after <- (1 + sqrt(1 + 4 * t^2)) / 2
    ahead <- to + (t - 1) / after * (to - b)
    b <- to
    t <- after
  }
  used <- which(b != 0)
  for (i in 1:50) {
    m <- mean(drop(x %*% b))
    information <- crossprod(x[, used], x[, used] * weight_of[[family]](m))
    b[used] <- b[used] + solve(information, (score(b) - penalty * sign(b))[used])
  }
  left <- score(b)
  stopifnot(max(abs(left - penalty * sign(b))[used]) < 1e-7 * (1 + max(penalty)), all(abs(left) <= penalty + 1e-7))
  b
}
number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
quoted <- function(x) paste0("\"", x, "\"")
one <- function(formula, family, data, file, largest, penalties) {
  x <- model.matrix(formula, data)
  y <- model.response(model.frame(formula, data))
  scale <- c(1, largest)
  points <- lapply(penalties, function(p) minimum(sweep(x, 2, scale, "/"), y, family, length(y) * p * c(0, rep(1, length(largest)))))
  deviances <- sapply(points, function(b) deviance_of(family, y, mean_of[[family]](drop(sweep(x, 2, scale, "/") %*% b))))
  k <- sapply(points, function(b) sum(b != 0))
  n <- length(y)
  bic <- (if (family == "gaussian") n * log(deviances / n) else deviances) + log(n) * k
  fields <- c(formula = quoted(paste(deparse(formula, 300), collapse = "")), family = quoted(family), data = quoted(file),
    penalties = listed(penalties), estimates = listed(sapply(points, function(b) listed(number(b / scale)))),
    deviance = listed(number(deviances)), selected = listed(k), bic = listed(number(bic)), taken = which.min(bic) - 1)
  paste0("{\n", paste0("    ", quoted(names(fields)), ": ", fields, collapse = ",\n"), "\n  }")
}
fits <- c(
  birthwt = one(low ~ age + lwt + factor(race) + smoke + ht + ui, "binomial", birthwt, "gpl/birthwt.csv",
                c(50, 300, 1, 1, 1, 1, 1), c(0.05, 0.02, 0.005)),
  quine = one(Days ~ Sex + Age + Eth + Lrn, "poisson", quine, "gpl/quine.csv", rep(1, 6), c(2, 0.5, 0.1)),
  abalone = one(rings ~ sex + length + I(length^2) + shell_weight, "gaussian", abalone, "abalone.csv",
                c(1, 1, 1, 1, 1.2), c(0.3, 0.05, 0.005)))
cat("{\n", paste0("  \"", names(fits), "\": ", fits, collapse = ",\n"), "\n}\n", sep = "")
