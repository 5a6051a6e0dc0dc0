# Variances of combinations of estimates, from a covariance matrix that may have opened rounded: the entry of two
# estimates is then a multiple of the product of their steps.

# What rounding adds to the variances of combinations (rows of numbers), at most.
rounding_of <- function(object, combinations) {
  steps <- object$body$vcov$steps
  if (is.null(steps)) numeric(nrow(combinations)) else as.vector(abs(combinations) %*% as.numeric(unlist(steps)))^2 / 2
}

# NA, with a warning, where rounding may be all of a variance.
combination_errors <- function(object, combinations) {
  variances <- rowSums((combinations %*% vcov(object)) * combinations)
  coarse <- !is.na(variances) & variances <= rounding_of(object, combinations)
  if (any(coarse)) {
    warning(paste("of", sum(coarse), "rows there is no standard error: the covariance matrix opened rounded, and rounding may",
                  "be all of their variance"), call. = FALSE)
  }
  variances[coarse] <- NA
  sqrt(variances)
}

wald_test <- function(fit, hypothesis, rhs = 0) {
  covariance <- vcov(fit)
  terms <- rownames(covariance)
  if (is.character(hypothesis)) {
    unknown <- setdiff(hypothesis, terms)
    if (length(unknown)) {
      refuse("usage", paste("there is no coefficient", paste(unknown, collapse = ", ")),
             paste("there are:", paste(terms, collapse = ", ")))
    }
    hypothesis <- outer(hypothesis, terms, "==") + 0
  }
  if (is.null(dim(hypothesis))) hypothesis <- matrix(hypothesis, 1)
  if (!is.numeric(hypothesis) || ncol(hypothesis) != length(terms) || nrow(hypothesis) == 0 || anyNA(hypothesis)) {
    refuse("usage", paste("a hypothesis is names of coefficients, or a matrix with", length(terms), "columns"),
           "a row makes one combination of the coefficients")
  }
  k <- nrow(hypothesis)
  difference <- as.vector(hypothesis %*% coef(fit)[terms]) - rhs
  of_hypothesis <- hypothesis %*% covariance %*% t(hypothesis)
  # What the hypotheses before it leave of the variance of each.
  factor <- tryCatch(chol(of_hypothesis), error = function(condition) NULL)
  left <- if (is.null(factor)) 0 else diag(factor)^2
  if (any(left <= pmax(rounding_of(fit, hypothesis), 1e-12 * diag(of_hypothesis)))) {
    not_released("one of these hypotheses follows from the others, or nearly so: what is left of its variance is no more than rounding",
                 "leave it out")
  }
  statistic <- sum(backsolve(factor, difference, transpose = TRUE)^2)
  heading <- paste0("Wald test of ", k, if (k == 1) " hypothesis" else " hypotheses", "\n\n",
                    if (is.null(fit$formula)) title_of(fit) else fit$formula)
  if (isTRUE(is.finite(fit$df))) {
    return(anova_table(list("Df" = k, "Res.Df" = fit$df, "F value" = statistic / k,
                            "Pr(>F)" = pf(statistic / k, k, fit$df, lower.tail = FALSE)), heading))
  }
  anova_table(list("Df" = k, "Chisq" = statistic, "Pr(>Chisq)" = pchisq(statistic, k, lower.tail = FALSE)), heading)
}
