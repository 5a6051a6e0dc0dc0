# Writes nested.json: tests of nested models by R's anova, likelihood-ratio tests, or F where there is a dispersion;
# of negative binomial models with theta estimated in both, as MASS' anova.negbin, by the functions of more.R.
# Rscript tests/references/glm/nested.R > tests/references/glm/nested.json
read <- function(name) read.csv(file.path("tests/tables", name), stringsAsFactors = TRUE)
birthwt <- read("gpl/birthwt.csv")
quine <- read("gpl/quine.csv")
abalone <- read("abalone.csv")
own <- new.env()
source_lines <- readLines("tests/references/glm/more.R")
eval(parse(text = source_lines[!grepl("^cat\\(", source_lines)]), own)

quasi <- function(of) if (of == "quasi-poisson") quasipoisson() else quasibinomial()
fits <- list(
  logistic = list(low ~ age + lwt + factor(race) + smoke + ht, c("factor(race)", "age"), "binomial", birthwt, "gpl/birthwt.csv"),
  interaction = list(low ~ age * smoke + ht, "age:smoke", "binomial", birthwt, "gpl/birthwt.csv"),
  null = list(low ~ smoke + ht, c("smoke", "ht"), "binomial", birthwt, "gpl/birthwt.csv"),
  counts = list(Days ~ Sex + Age + Eth + Lrn, c("Sex", "Lrn"), "poisson", quine, "gpl/quine.csv"),
  linear = list(rings ~ sex + length + shell_weight, "sex", "gaussian", abalone, "abalone.csv"),
  gamma = list(rings ~ sex * shell_weight + log(length), c("sex:shell_weight", "sex"), "gamma", abalone, "abalone.csv"),
  quasi = list(Days ~ Sex + Age + Eth + Lrn, "Age", "quasi-poisson", quine, "gpl/quine.csv"),
  negbin = list(Days ~ Sex + Age + Eth + Lrn, c("Age", "Sex"), "negative-binomial", quine, "gpl/quine.csv"),
  odds = list(Age ~ Eth + Sex + Days, c("Eth", "Sex"), "ordinal", quine, "gpl/quine.csv"),
  levels = list(Age ~ Sex + Days, "Days", "multinomial", quine, "gpl/quine.csv"))

own_fit <- function(formula, family, data) {
  frame <- model.frame(formula, data)
  x <- model.matrix(formula, frame)
  if (family == "ordinal") x <- x[, attr(x, "assign") > 0, drop = FALSE]
  y <- model.response(frame)
  if (family != "negative-binomial") y <- as.integer(y) - 1
  fit <- switch(family, "negative-binomial" = own$negative_binomial, ordinal = own$ordinal,
    multinomial = own$multinomial)(x, y, rep(0, length(y)))
  list(deviance = -2 * fit$loglik, parameters = length(fit$b))
}

number <- function(x) ifelse(is.na(x), "null", sprintf("%.15g", x))
quoted <- function(x) paste0("\"", x, "\"")
one <- function(name) {
  spec <- fits[[name]]
  smaller <- update(spec[[1]], paste("~ . -", paste(spec[[2]], collapse = " - ")))
  family <- spec[[3]]
  if (family %in% c("negative-binomial", "ordinal", "multinomial")) {
    large <- own_fit(spec[[1]], family, spec[[4]])
    small <- own_fit(smaller, family, spec[[4]])
    statistic <- small$deviance - large$deviance
    df <- large$parameters - small$parameters
    p_value <- pchisq(statistic, df, lower.tail = FALSE)
    residual <- NA
  } else {
    law <- switch(family, gaussian = gaussian(), gamma = Gamma("log"), binomial = binomial(), poisson = poisson(), quasi(family))
    control <- glm.control(epsilon = 1e-14, maxit = 100)
    large <- glm(spec[[1]], law, spec[[4]], control = control)
    small <- glm(smaller, law, spec[[4]], control = control)
    with_f <- family %in% c("gaussian", "gamma", "quasi-poisson")
    table <- anova(small, large, test = if (with_f) "F" else "LRT")
    statistic <- if (with_f) table[2, "F"] else table[2, "Deviance"]
    df <- table[2, "Df"]
    p_value <- table[2, ncol(table)]
    residual <- if (with_f) large$df.residual else NA
  }
  fields <- c(
    formula = quoted(paste(deparse(spec[[1]], 200), collapse = "")), drop = paste0("[", paste(quoted(spec[[2]]), collapse = ", "), "]"),
    family = quoted(family), data = quoted(spec[[5]]), statistic = number(statistic), df = number(df),
    df_residual = number(residual), p_value = number(p_value))
  body <- paste0("    ", quoted(names(fields)), ": ", fields, collapse = ",\n")
  paste0("  ", quoted(name), ": {\n", body, "\n  }")
}
cat("{\n", paste0(sapply(names(fits), one), collapse = ",\n"), "\n}\n", sep = "")
