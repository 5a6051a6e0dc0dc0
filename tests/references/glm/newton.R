# For the scripts of this folder: negative binomial, proportional odds and multinomial regressions as MASS' glm.nb and polr and
# nnet's multinom define them, by Newton's method, to all digits. y of the last two: 0, 1, ...
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
