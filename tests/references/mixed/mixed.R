# Writes mixed.json: linear mixed models with a random intercept by their likelihood with dense covariance matrices, without a package,
# for tests/stats/mixed and tests/methods/mixed.
# Rscript tests/references/mixed/mixed.R > tests/references/mixed/mixed.json
number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")

# -2 log-likelihood, b and sigma^2 given lambda = tau^2 / sigma^2.
dense <- function(lambda, y, x, cluster, reml) {
  v <- diag(length(y)) + lambda * outer(cluster, cluster, "==")
  u <- chol(v)
  q <- qr(backsolve(u, x, transpose = TRUE))
  z <- backsolve(u, y, transpose = TRUE)
  m <- length(y) - if (reml) ncol(x) else 0
  s2 <- sum(qr.resid(q, z)^2) / m
  r <- qr.R(q)
  list(b = qr.coef(q, z), s2 = s2, se = sqrt(s2 * diag(chol2inv(r))),
       criterion = m * (1 + log(2 * pi * s2)) + 2 * sum(log(diag(u))) + if (reml) 2 * sum(log(abs(diag(r)))) else 0)
}
fit <- function(y, x, cluster, reml) {
  f <- function(u) dense(exp(u), y, x, cluster, reml)$criterion
  grid <- seq(log(1e-6), log(1e4), length.out = 60)
  best <- which.min(sapply(grid, f))
  lambda <- 0
  if (best > 1) {
    at <- optimize(f, grid[c(best - 1, min(best + 1, 60))], tol = 1e-6)$minimum
    h <- 2e-3
    c <- sapply(at + c(-h, 0, h), f)
    lambda <- exp(at + h / 2 * (c[1] - c[3]) / (c[1] - 2 * c[2] + c[3]))
  }
  d <- dense(lambda, y, x, cluster, reml)
  object(c(reml = if (reml) "true" else "false", estimate = listed(number(d$b)), standard_error = listed(number(d$se)),
           sigma_squared = number(d$s2), tau_squared = number(lambda * d$s2), criterion = number(d$criterion),
           icc = number(lambda / (1 + lambda)), aic = number(d$criterion + 2 * (ncol(x) + 2))), "      ")
}
table <- function(fields, formula, data, cluster) {
  y <- model.response(model.frame(formula, data))
  x <- model.matrix(formula, data)
  # Numbers in the order of appearance.
  cluster <- match(cluster, unique(cluster))
  object(c(fields, formula = paste0("\"", paste(deparse(formula, 300), collapse = ""), "\""),
           columns = listed(paste0("\"", colnames(x), "\"")), x = listed(number(t(x))), y = listed(number(y)), cluster = listed(cluster - 1),
           fits = paste0("[\n      ", fit(y, x, cluster, TRUE), ",\n      ", fit(y, x, cluster, FALSE), "\n    ]")), "  ")
}
set.seed(26)
cluster <- rep(seq_len(24), times = sample(1:9, 24, TRUE))
made <- data.frame(x = round(rnorm(length(cluster)), 3), z = rbinom(length(cluster), 1, 0.4))
made$y <- round(2 + 0.7 * made$x - 0.5 * made$z + rnorm(24, 0, 0.6)[cluster] + rnorm(length(cluster)), 3)
flat <- made
# What clusters have in common is taken away, so that tau is 0.
flat$y <- round(2 + 0.7 * made$x + resid(lm(rnorm(length(cluster)) ~ factor(cluster))), 6)
single <- data.frame(x = round(rnorm(30), 3), cluster = c(1:28, 28, 28))
single$y <- round(1 + single$x + rnorm(28)[single$cluster] + rnorm(30, 0, 0.5), 3)
tables <- c(unbalanced = table(c(source = "\"simulated, 24 clusters of 1 to 9 rows\""), y ~ x + z, made, cluster),
            without_variance = table(c(source = "\"simulated, no variance of clusters\""), y ~ x, flat, cluster),
            nearly_single = table(c(source = "\"simulated, one row a cluster but three in one\""), y ~ x, single, single$cluster))
cat(object(tables, ""), "\n", sep = "")
