# glm, Cox's model, mixed, meta.

log_likelihood <- function(value, df, nobs) {
  if (is.null(value)) {
    not_released("this fit has no likelihood", "it has none with sampling weights, or if it did not converge")
  }
  structure(value, df = df, nobs = nobs, class = "logLik")
}

# Larger and smaller models of the same rows, in that order of their coefficients.
model_list <- function(object, ..., class) {
  fits <- Filter(function(fit) inherits(fit, "partita_fit"), list(object, ...))
  same <- function(fit) inherits(fit, class) && identical(as.numeric(fit$nobs), as.numeric(object$nobs))
  if (!all(vapply(fits, same, NA))) {
    refuse("usage", "these are no models of one kind and the same rows", "compare models of the same rows")
  }
  fits
}

anova_table <- function(columns, heading) {
  structure(as.data.frame(columns, check.names = FALSE), heading = heading, class = c("anova", "data.frame"))
}

# Of differences of nested models, as stats::anova gives it: none where no coefficient was added, or where the
# larger model fits worse, which nested models never do.
chi_square_p <- function(statistic, df) {
  statistic[df %in% 0 | (!is.na(statistic) & statistic < 0)] <- NA
  pchisq(statistic, df, lower.tail = FALSE)
}

# Successive likelihood ratio tests; larger models have a larger log-likelihood.
likelihood_anova <- function(fits, heading) {
  values <- lapply(fits, logLik)
  ll <- vapply(values, as.numeric, 0)
  df <- vapply(values, attr, 0, "df")
  gained <- c(NA, diff(df))
  chisq <- c(NA, 2 * diff(ll)) * sign(gained)
  anova_table(list("loglik" = ll, "Chisq" = chisq, "Df" = abs(gained),
                   "Pr(>|Chi|)" = chi_square_p(chisq, abs(gained))),
              paste0(heading, "\n"))
}

# Of the outcome and of keys of the result; without them their likelihoods are no likelihoods of the same numbers.
require_same <- function(fits, keys) {
  what <- lapply(fits, function(fit) c(list(trimws(sub("~.*", "", fit$formula))), fit$body[keys]))
  if (length(unique(what)) > 1) {
    refuse("usage", paste("these models differ in the outcome or in", paste(keys, collapse = ", ")),
           "compare models that differ in their terms only")
  }
}

formulas_heading <- function(fits) {
  paste0("Model ", seq_along(fits), ": ", vapply(fits, function(fit) fit$formula, ""), collapse = "\n")
}

# ------------------------------------------------------------------------------------------------ glm

logLik.partita_glm <- function(object, ...) {
  fit <- object$body$fit
  # The AIC has two for each parameter, a dispersion that is estimated included.
  log_likelihood(fit$log_likelihood, if (!is.null(fit$aic)) (fit$aic + 2 * fit$log_likelihood) / 2 else NA, object$nobs)
}
deviance.partita_glm <- function(object, ...) number(object$body$fit$deviance)
df.residual.partita_glm <- function(object, ...) number(object$body$fit$df_residual)

glance.partita_glm <- function(x, ...) {
  fit <- x$body$fit
  bic <- if (is.null(fit$aic)) NA else stats::BIC(logLik(x))
  data.frame(null.deviance = number(fit$null_deviance), df.null = number(fit$df_null),
             logLik = number(fit$log_likelihood), AIC = number(fit$aic), BIC = bic, deviance = number(fit$deviance),
             df.residual = number(fit$df_residual), nobs = x$nobs, converged = x$converged)
}

# Refuses fits whose deviance or log-likelihood is not the maximum of one, or has no chi-square law.
require_likelihood <- function(fit) {
  body <- fit$body
  if (body$family %in% c("gaussian", "gamma", "quasi-binomial", "quasi-poisson")) {
    not_released("the test of a family with a dispersion is F, of both models at once",
                 "ask for it in the study file: [analysis.nested]")
  }
  why <- if (body$family == "modified-poisson") "family modified-poisson"
         else if (!identical(body$errors, "model")) paste("errors", body$errors)
         else if (!is.null(body$ridge) || isTRUE(body$firth)) "a penalty"
         else if (is.null(body$fit$log_likelihood)) "no log-likelihood that opened"
  if (!is.null(why)) {
    not_released(paste("there is no likelihood ratio test of a fit with", why),
                 "take the Wald tests of terms: anova() of one fit")
  }
}

# Of one fit the Wald tests of terms of several columns, and the test of the study's nested model; of several
# the analysis of deviance.
anova.partita_glm <- function(object, ...) {
  fits <- model_list(object, ..., class = "partita_glm")
  if (length(fits) == 1) {
    tests <- rows_frame(object$body$tests, c("term", "columns", "statistic", "p_value"))
    by_f <- is.finite(object$df)
    table <- anova_table(list(as.numeric(tests$columns), as.numeric(tests$statistic), as.numeric(tests$p_value)),
                         paste0("Wald tests of terms\n\n", object$formula))
    names(table) <- if (by_f) c("Df", "F value", "Pr(>F)") else c("Df", "Chisq", "Pr(>Chisq)")
    rownames(table) <- tests$term
    return(table)
  }
  for (fit in fits) require_likelihood(fit)
  require_same(fits, c("family", "link", "sites", "weights"))
  # Deviances of these are at different theta.
  if (object$body$family == "negative-binomial") {
    return(likelihood_anova(fits, paste0("Likelihood ratio tests\n\n", formulas_heading(fits))))
  }
  df <- vapply(fits, df.residual, 0)
  dev <- vapply(fits, deviance, 0)
  fewer <- c(NA, -diff(df))
  table <- anova_table(list("Resid. Df" = df, "Resid. Dev" = dev, "Df" = fewer, "Deviance" = c(NA, -diff(dev)),
                            "Pr(>Chi)" = chi_square_p(c(NA, -diff(dev)) * sign(fewer), abs(fewer))),
                       paste0("Analysis of Deviance Table\n\n", formulas_heading(fits)))
  table
}

inverse_links <- list(
  identity = identity, log = exp, logit = stats::plogis, probit = stats::pnorm,
  cloglog = function(eta) -expm1(-exp(eta)))

# Derivatives of the inverse links by the linear predictor.
inverse_link_slopes <- list(
  identity = function(eta) rep(1, length(eta)), log = exp, logit = stats::dlogis, probit = stats::dnorm,
  cloglog = function(eta) exp(eta - exp(eta)))

predict.partita_glm <- function(object, newdata, type = c("link", "response"), se.fit = FALSE, reference = NULL, ...) {
  type <- match.arg(type)
  if (missing(newdata)) no_rows_back()
  if (object$body$family %in% c("ordinal", "multinomial")) {
    not_released(paste("predict() does not know family", object$body$family), "compute it from coef()")
  }
  if (!is.null(object$body$sites)) {
    not_released("predict() has no intercept: each institution keeps its own (site = \"fixed\")",
                 "compare rows by coef(), or fit one intercept: site = \"ignore\"")
  }
  if (grepl("offset(", object$formula, fixed = TRUE)) {
    not_released("predict() does not know the offset of the formula", "compute it from coef()")
  }
  columns <- design_matrix(object$coefficients$term, newdata, reference, object$body$factors)
  eta <- as.vector(columns %*% object$coefficients$estimate)
  link <- object$body$link
  fit <- if (type == "link") eta else inverse_links[[link]](eta)
  if (!se.fit) return(fit)
  slope <- if (type == "link") 1 else inverse_link_slopes[[link]](eta)
  list(fit = fit, se.fit = abs(slope) * combination_errors(object, columns))
}

# ------------------------------------------------------------------------------------------------ Cox

logLik.partita_coxph <- function(object, ...) {
  log_likelihood(object$body$fit$log_likelihood, nrow(object$coefficients), object$body$events)
}

glance.partita_coxph <- function(x, ...) {
  fit <- x$body$fit
  data.frame(n = x$nobs, nevent = x$body$events, statistic.log = number(fit$likelihood_ratio$chi_square),
             p.value.log = number(fit$likelihood_ratio$p_value), statistic.sc = number(fit$score$chi_square),
             p.value.sc = number(fit$score$p_value), statistic.wald = number(fit$wald$chi_square),
             p.value.wald = number(fit$wald$p_value), logLik = number(fit$log_likelihood), AIC = number(fit$aic),
             nobs = x$nobs, converged = x$converged)
}

anova.partita_coxph <- function(object, ...) {
  fits <- model_list(object, ..., class = "partita_coxph")
  if (length(fits) < 2) refuse("usage", "anova() of Cox's model compares two", "give it a second one")
  if (any(vapply(fits, function(fit) identical(fit$body$errors, "robust"), NA))) {
    not_released("there is no likelihood ratio test of a fit with errors robust",
                 "take the Wald test: glance() of one fit")
  }
  require_same(fits, c("ties", "strata"))
  likelihood_anova(fits, paste0("Analysis of Deviance Table\n Cox model\n", formulas_heading(fits)))
}

# ---------------------------------------------------------------------------------------------- mixed

logLik.partita_mixed <- function(object, ...) {
  variances <- if (identical(object$body$criterion, "Laplace")) 1 else 2
  log_likelihood(object$body$log_likelihood, nrow(object$coefficients) + variances, object$nobs)
}

glance.partita_mixed <- function(x, ...) {
  data.frame(nobs = x$nobs, ngroups = x$body$groups, sigma = sqrt(number(x$body$within$value)),
             logLik = number(x$body$log_likelihood), AIC = number(x$body$aic), BIC = number(x$body$bic),
             criterion = x$body$criterion, converged = x$converged)
}

anova.partita_mixed <- function(object, ...) {
  fits <- model_list(object, ..., class = "partita_mixed")
  if (length(fits) < 2) refuse("usage", "anova() of mixed models compares two", "give it a second one")
  if (any(vapply(fits, function(fit) fit$body$criterion == "REML", NA))) {
    not_released("criteria of REML of other fixed effects cannot be compared", "fit them with criterion = \"ML\"")
  }
  require_same(fits, c("group", "family", "criterion"))
  likelihood_anova(fits, formulas_heading(fits))
}

# ----------------------------------------------------------------------------------------------- meta

glance.partita_meta <- function(x, ...) {
  body <- x$body
  data.frame(i.squared = number(body$i_squared), tau.squared = number(body$tau_squared), cochran.qe = number(body$q),
             p.value.cochran.qe = number(body$q_p_value), df.residual = number(body$q_df), method = body$estimator, nobs = body$sites)
}
