# Writes risk.json: calibration by groups of predicted probabilities, and the area under the curve from ranks, of
# R's glm.
# Rscript tests/references/glm/risk.R > tests/references/glm/risk.json
birthwt <- read.csv("tests/tables/gpl/birthwt.csv")
# groups: whether no prediction is so near to a cut point that rounded estimates may move it across.
fits <- list(
  patterns = list(low ~ smoke + ht + ui, c(0.3, 0.45), TRUE),
  few = list(low ~ age + lwt + smoke + ht, c(0.35, 0.77), FALSE),
  numbers = list(low ~ age + lwt + smoke + ht, c(0.2, 0.35), FALSE))

number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(number(x), collapse = ", "), "]")
quoted <- function(x) paste0("\"", x, "\"")
one <- function(name) {
  spec <- fits[[name]]
  fit <- glm(spec[[1]], binomial(), birthwt, control = glm.control(epsilon = 1e-14, maxit = 100))
  risk <- fitted(fit)
  y <- birthwt$low
  group <- findInterval(risk, spec[[2]])
  by <- function(x) sapply(0:length(spec[[2]]), function(g) sum(x[group == g]))
  ranks <- rank(risk)
  area <- (sum(ranks[y == 1]) - sum(y) * (sum(y) + 1) / 2) / (sum(y) * sum(1 - y))
  fields <- c(formula = quoted(paste(deparse(spec[[1]], 200), collapse = "")), family = quoted("binomial"),
    data = quoted("gpl/birthwt.csv"), cuts = listed(spec[[2]]), clear = if (spec[[3]]) "true" else "false",
    estimate = listed(coef(fit)), rows = listed(by(rep(1, length(y)))), events = listed(by(y)), expected = listed(by(risk)), area = number(area))
  paste0("  ", quoted(name), ": {\n", paste0("    ", quoted(names(fields)), ": ", fields, collapse = ",\n"), "\n  }")
}
cat("{\n", paste0(sapply(names(fits), one), collapse = ",\n"), "\n}\n", sep = "")
