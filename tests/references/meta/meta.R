# Writes meta.json: meta-analyses by the formulas of the literature, without a package, for tests/stats/meta and tests/methods/meta.
# Rscript tests/references/meta/meta.R > tests/references/meta/meta.json
# REML maximises the restricted likelihood itself, so that neither a score nor a scoring step is taken from what is tested.
number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")

restricted <- function(tau2, b, v) {
  w <- 1 / (v + tau2)
  mu <- sum(w * b) / sum(w)
  -(sum(log(v + tau2)) + log(sum(w)) + sum(w * (b - mu)^2)) / 2
}
reml <- function(b, v) {
  most <- 4 * max(var(b), min(v))
  grid <- c(0, exp(seq(log(1e-8 * most), log(most), length.out = 2000)))
  best <- which.max(sapply(grid, restricted, b, v))
  if (best == 1) return(0)
  # On the logarithm, to the precision of the likelihood, then a parabola through three points around it.
  at <- optimize(function(u) restricted(exp(u), b, v), log(grid[c(max(best - 1, 2), min(best + 1, 2001))]), maximum = TRUE, tol = 1e-6)$maximum
  h <- 1e-3
  y <- sapply(at + c(-h, 0, h), function(u) restricted(exp(u), b, v))
  exp(at + h / 2 * (y[1] - y[3]) / (y[1] - 2 * y[2] + y[3]))
}
laird <- function(b, v) {
  w <- 1 / v
  q <- sum(w * (b - sum(w * b) / sum(w))^2)
  max(0, (q - (length(b) - 1)) / (sum(w) - sum(w^2) / sum(w)))
}
analysis <- function(b, s, estimator, hartung) {
  v <- s^2
  tau2 <- switch(estimator, "fixed" = 0, "dersimonian-laird" = laird(b, v), "reml" = reml(b, v))
  w <- 1 / (v + tau2)
  mu <- sum(w * b) / sum(w)
  df <- length(b) - 1
  se <- if (hartung) sqrt(sum(w * (b - mu)^2) / (df * sum(w))) else sqrt(1 / sum(w))
  crit <- if (hartung) qt(0.975, df) else qnorm(0.975)
  p <- if (hartung) 2 * pt(-abs(mu / se), df) else 2 * pnorm(-abs(mu / se))
  q <- sum((b - sum(b / v) / sum(1 / v))^2 / v)
  object(c(estimator = paste0("\"", estimator, "\""), hartung_knapp = if (hartung) "true" else "false", estimate = number(mu),
           standard_error = number(se), p_value = number(p), lower = number(mu - crit * se), upper = number(mu + crit * se),
           tau_squared = number(tau2), q = number(q), q_p_value = number(pchisq(q, df, lower.tail = FALSE)),
           i_squared = number(max(0, (q - df) / q)), new_lower = number(mu - crit * sqrt(se^2 + tau2)),
           new_upper = number(mu + crit * sqrt(se^2 + tau2))), "      ")
}
table <- function(source, b, s) {
  all <- c(analysis(b, s, "fixed", FALSE), analysis(b, s, "dersimonian-laird", FALSE), analysis(b, s, "dersimonian-laird", TRUE),
           analysis(b, s, "reml", FALSE), analysis(b, s, "reml", TRUE))
  object(c(source = paste0("\"", source, "\""), estimates = listed(number(b)), standard_errors = listed(number(s)),
           analyses = paste0("[\n      ", paste(all, collapse = ",\n      "), "\n    ]")), "  ")
}
# G. Colditz et al., JAMA 271 (1994): tuberculosis after BCG vaccination, cases and others, vaccinated and not.
tpos <- c(4, 6, 3, 62, 33, 180, 8, 505, 29, 17, 186, 5, 27)
tneg <- c(119, 300, 228, 13536, 5036, 1361, 2537, 87886, 7470, 1699, 50448, 2493, 16886)
cpos <- c(11, 29, 11, 248, 47, 372, 10, 499, 45, 65, 141, 3, 29)
cneg <- c(128, 274, 209, 12619, 5761, 1079, 619, 87892, 7232, 1600, 27197, 2338, 17825)
risk <- log(tpos / (tpos + tneg)) - log(cpos / (cpos + cneg))
risk_error <- sqrt(1 / tpos - 1 / (tpos + tneg) + 1 / cpos - 1 / (cpos + cneg))
set.seed(15)
drawn <- function(k, tau) {
  s <- exp(runif(k, log(0.08), log(0.6)))
  list(b = round(rnorm(k, 0.4, sqrt(s^2 + tau^2)), 6), s = round(s, 6))
}
few <- drawn(5, 0.3)
many <- drawn(40, 0.2)
# Rows of five sites, of which each fits a logistic regression.
set.seed(61)
rows <- lapply(c(150, 180, 220, 160, 300), function(n) {
  d <- data.frame(arm = rbinom(n, 1, 0.5), age = sample(20:80, n, TRUE))
  d$relapse <- rbinom(n, 1, plogis(-0.5 + rnorm(1, 0.5, 0.4) * d$arm + 0.02 * (d$age - 50)))
  d
})
own <- lapply(rows, function(d) glm(relapse ~ arm + age, binomial, d, control = glm.control(epsilon = 1e-14, maxit = 50)))
site <- function(d) object(sapply(d, listed), "      ")
fitted <- sub("\n  }$", paste0(",\n    \"rows\": [", paste(sapply(rows, site), collapse = ", "), "]\n  }"),
              table("simulated rows of five sites, relapse ~ arm + age by R's glm", sapply(own, function(m) coef(m)[["arm"]]),
                    sapply(own, function(m) sqrt(vcov(m)["arm", "arm"]))))
tables <- c(bcg = table("Colditz 1994, log risk ratios", risk, risk_error),
            few = table("simulated, five sites", few$b, few$s), many = table("simulated, forty sites", many$b, many$s),
            fitted = fitted, alike = table("by hand, no heterogeneity", c(0.5, 0.52, 0.49, 0.51), c(0.2, 0.3, 0.25, 0.1)))
cat(object(tables, ""), "\n", sep = "")
