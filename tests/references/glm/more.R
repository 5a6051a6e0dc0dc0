# Writes more.json: negative binomial, proportional odds and multinomial regressions as MASS' glm.nb and polr
# and nnet's multinom define them, by Newton's method of this script.
# Rscript tests/references/glm/more.R > tests/references/glm/more.json
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

negative_binomial <- function(x, y, offset) {
  theta <- 1
  b <- c(log(mean(y)), rep(0, ncol(x) - 1))
  for (round in 1:500) {
    for (i in 1:100) {
      mu <- exp(drop(x %*% b) + offset)
      w <- mu / (1 + mu / theta)
      step <- solve(crossprod(x, w * x), crossprod(x, (y - mu) / (1 + mu / theta)))
      b <- b + drop(step)
      if (max(abs(step)) < 1e-13) break
    }
    mu <- exp(drop(x %*% b) + offset)
    before <- theta
    for (i in 1:100) {
      score <- sum(digamma(theta + y) - digamma(theta) + log(theta) + 1 - log(theta + mu) - (y + theta) / (mu + theta))
      information <- sum(-trigamma(theta + y) + trigamma(theta) - 1 / theta + 2 / (mu + theta) - (y + theta) / (mu + theta)^2)
      theta <- theta + score / information
      if (abs(score / information) < 1e-13) break
    }
    if (abs(theta / before - 1) < 1e-13) break
  }
  w <- mu / (1 + mu / theta)
  loglik <- sum(dnbinom(y, size = theta, mu = mu, log = TRUE))
  deviance <- 2 * sum(ifelse(y > 0, y * log(y / mu), 0) - (y + theta) * log((y + theta) / (mu + theta)))
  list(b = b, covariance = solve(crossprod(x, w * x)), loglik = loglik, deviance = deviance,
    scores = x * ((y - mu) / (1 + mu / theta)), theta = theta, theta_error = 1 / sqrt(information), parameters = length(b) + 1)
}

# Newton's method with the observed information of a log-likelihood; at returns loglik, score and information.
newton <- function(start, at) {
  b <- start
  for (i in 1:200) {
    here <- at(b)
    step <- drop(solve(here$information, here$score))
    while (!is.finite(at(b + step)$loglik) || at(b + step)$loglik < here$loglik - 1e-9) step <- step / 2
    b <- b + step
    if (max(abs(step)) < 1e-12) break
  }
  here <- at(b)
  list(b = b, covariance = solve(here$information), loglik = here$loglik, deviance = -2 * here$loglik,
    scores = here$scores, theta = NA, theta_error = NA, parameters = length(b))
}

ordinal <- function(x, y, offset) {
  classes <- max(y) + 1
  p <- ncol(x)
  at <- function(b) {
    z <- c(-Inf, b[p + seq_len(classes - 1)], Inf)
    eta <- drop(x %*% b[seq_len(p)]) + offset
    u <- z[y + 2] - eta
    v <- z[y + 1] - eta
    if (any(diff(z) <= 0)) return(list(loglik = -Inf))
    prob <- plogis(u) - plogis(v)
    cut <- function(k) outer(k, seq_len(classes - 1), "==") * 1
    du <- cbind(-x * is.finite(u), cut(y + 1))
    dv <- cbind(-x * is.finite(v), cut(y))
    slope <- (dlogis(u) * du - dlogis(v) * dv) / prob
    bend <- function(value) ifelse(is.finite(value), dlogis(value) * (1 - 2 * plogis(value)), 0)
    information <- crossprod(slope) - crossprod(du, bend(u) / prob * du) + crossprod(dv, bend(v) / prob * dv)
    list(loglik = sum(log(prob)), score = colSums(slope), scores = slope, information = information)
  }
  shares <- cumsum(tabulate(y + 1)) / length(y)
  newton(c(rep(0, p), qlogis(shares[-classes])), at)
}

multinomial <- function(x, y, offset) {
  classes <- max(y) + 1
  p <- ncol(x)
  at <- function(b) {
    odds <- exp(x %*% matrix(b, p))
    mean <- odds / (1 + rowSums(odds))
    seen <- outer(y, seq_len(classes - 1), "==") * 1
    information <- matrix(0, length(b), length(b))
    for (k in seq_len(classes - 1)) for (l in seq_len(classes - 1)) {
      w <- mean[, k] * ((k == l) - mean[, l])
      information[(k - 1) * p + seq_len(p), (l - 1) * p + seq_len(p)] <- crossprod(x, w * x)
    }
    list(loglik = sum(log(cbind(1 - rowSums(mean), mean)[cbind(seq_along(y), y + 1)])),
      score = as.vector(crossprod(x, seen - mean)),
      scores = do.call(cbind, lapply(seq_len(classes - 1), function(k) x * (seen - mean)[, k])), information = information)
  }
  newton(rep(0, p * (classes - 1)), at)
}

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
