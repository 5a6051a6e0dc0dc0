# Writes sem_constraints.json: fits by lavaan of models with constraints, covariates, groups and
# improper or unidentified solutions. Run as: Rscript sem_constraints.R sem_constraints.json
# (lavaan prints to the standard output now and then, hence the file name.)
suppressMessages(library(lavaan))

json <- function(x) {
  if (is.null(x)) return("null")
  if (length(x) == 0) return("[]")
  if (is.list(x)) {
    if (is.null(names(x))) return(paste0("[", paste(sapply(x, json), collapse = ", "), "]"))
    return(paste0("{", paste0("\"", names(x), "\": ", sapply(x, json), collapse = ", "), "}"))
  }
  if (is.matrix(x)) return(json(lapply(seq_len(nrow(x)), function(i) I(unname(x[i, ])))))
  one <- function(v) {
    if (is.na(v)) return("null")
    if (is.character(v)) return(paste0("\"", gsub("\n", "\\\\n", gsub("\"", "\\\\\"", v)), "\""))
    if (is.logical(v)) return(if (v) "true" else "false")
    sprintf("%.17g", v)
  }
  if (length(x) == 1 && !inherits(x, "AsIs")) return(one(x))
  paste0("[", paste(sapply(x, one), collapse = ", "), "]")
}

# Newton steps on the Lagrangian, since lavaan's optimisers stop early under constraints. The
# curvature of nonlinear constraints is left out: convergence is linear then.
polish <- function(fit, wrapper, model, data, options) {
  m <- fit@Model
  x <- lavaan:::lav_model_get_parameters(m)
  gradient <- function(x) lavaan:::lav_model_gradient(m, GLIST = lavaan:::lav_model_x2GLIST(m, x),
    lavsamplestats = fit@SampleStats, lavdata = fit@Data, ceq.simple = FALSE)
  hessian <- lavTech(fit, "information.observed")
  constrained <- length(body(m@ceq.function)) > 0 && length(m@ceq.function(x)) > 0
  for (step in 1:300) {
    if (constrained) {
      value <- m@ceq.function(x)
      jacobian <- lavaan:::lav_func_jacobian_complex(func = m@ceq.function, x = x)
      k <- nrow(jacobian)
      bordered <- rbind(cbind(hessian, t(jacobian)), cbind(jacobian, matrix(0, k, k)))
      move <- (MASS::ginv(bordered, tol = 1e-11) %*% c(-gradient(x), -value))[seq_along(x)]
    } else move <- solve(hessian, -gradient(x))
    x <- x + move
    if (max(abs(move)) < 1e-13) break
  }
  # A start from a parameter table switches fixed.x off unless it is given.
  if (is.null(options$fixed.x)) options$fixed.x <- TRUE
  pt <- parTable(fit)
  pt$est[pt$free > 0] <- x[pt$free[pt$free > 0]]
  at <- function(...) suppressWarnings(
    do.call(wrapper, c(list(model, data = data, start = pt, optim.method = "none"), options, list(...))))
  moved <- max(abs(x - lavaan:::lav_model_get_parameters(m)) / sqrt(diag(vcov(fit))), na.rm = TRUE)
  list(fit = at(), observed = at(information = "observed"), last = max(abs(move)), moved = moved)
}

case <- function(id, wrapper, model, data, ..., identified = TRUE) {
  options <- list(...)
  first <- suppressWarnings(do.call(wrapper, c(list(model, data = data), options)))
  baseline <- suppressWarnings(lavaan:::lav_object_independence(first))
  polished <- if (identified) polish(first, wrapper, model, data, options) else
    list(fit = first, observed = first, last = NA, moved = NA)
  fit <- polished$fit
  observed <- polished$observed
  pt <- parTable(fit)
  lv <- lavaan:::lav_standardize_lv(fit)
  all <- lavaan:::lav_standardize_all(fit)
  keep <- which(!(pt$op == "==" & grepl("^\\.p", pt$lhs)))
  se_observed <- parTable(observed)$se
  rows <- lapply(keep, function(i) list(
    lhs = pt$lhs[i], op = pt$op[i], rhs = pt$rhs[i], group = max(pt$group[i], 0),
    est = pt$est[i], se = pt$se[i], se_observed = if (is.null(se_observed)) NA else se_observed[i],
    free = pt$free[i] > 0, std_lv = lv[i], std_all = all[i]))
  samp <- lavInspect(fit, "sampstat"); imp <- lavInspect(fit, "implied")
  if (lavInspect(fit, "ngroups") == 1) { samp <- list(samp); imp <- list(imp) }
  n <- lavInspect(fit, "nobs")
  labels <- lavInspect(fit, "group.label"); if (length(labels) == 0) labels <- ""
  moments <- lapply(seq_along(samp), function(g) list(
    group = labels[g], n = n[g], names = I(colnames(samp[[g]]$cov)),
    sample_cov = unclass(samp[[g]]$cov),
    sample_mean = I(if (is.null(samp[[g]]$mean)) numeric(0) else unname(c(samp[[g]]$mean))),
    implied_cov = unclass(imp[[g]]$cov)))
  wanted <- c("npar", "fmin", "chisq", "df", "pvalue", "baseline.chisq", "baseline.df", "cfi", "tli",
              "logl", "unrestricted.logl", "aic", "bic", "bic2", "rmsea", "rmsea.ci.lower",
              "rmsea.ci.upper", "rmsea.pvalue", "srmr")
  list(id = id, lavaan_function = wrapper, model = model, lavaan_options = if (length(options)) options else NULL,
       meanstructure = lavInspect(fit, "meanstructure"), last_step = polished$last,
       polished_by_standard_errors = polished$moved, moments = moments,
       parameters = rows, fit = as.list(fitMeasures(fit, baseline.model = baseline)[wanted]))
}

hs <- HolzingerSwineford1939
pd <- PoliticalDemocracy
three <- "visual =~ x1 + x2 + x3
textual =~ x4 + x5 + x6
speed =~ x7 + x8 + x9"

# r12 r13 > r23: one factor needs a negative residual variance of y1.
set.seed(11)
y1 <- rnorm(80); u <- rnorm(80)
heywood <- data.frame(y1 = y1, y2 = .9 * y1 + .6 * u + rnorm(80, sd = .3),
                      y3 = .6 * y1 - .6 * u + rnorm(80, sd = .4))
set.seed(5)
n <- 300
flow <- data.frame(x1 = rnorm(n), x2 = rnorm(n))
e <- matrix(rnorm(2 * n), n)
flow$y1 <- (.5 * flow$x1 + .4 * (.6 * flow$x2 + e[, 2]) + e[, 1]) / (1 - .4 * .3)
flow$y2 <- .3 * flow$y1 + .6 * flow$x2 + e[, 2]
reversed <- hs
reversed$x2 <- -reversed$x2
reversed$x7 <- -3 * reversed$x7 + 20

cases <- list(
  case("linear", "cfa", "visual =~ x1 + a*x2 + b*x3
textual =~ x4 + c*x5 + x6
speed =~ x7 + x8 + x9
a + b == 2*c - 0.5
ratio := a / c", hs),
  case("linear_mean", "cfa", paste(three, "x1 ~ i1*1
x2 ~ i2*1
x3 ~ 1
x4 ~ i4*1
i1 - i4 == i2 - 4", sep = "\n"), hs, meanstructure = TRUE),
  case("nonlinear", "cfa", "visual =~ x1 + a*x2 + b*x3
textual =~ x4 + x5 + x6
speed =~ x7 + c*x8 + x9
a^2 + b^2 == 1
a * c == 0.7
s := sqrt(a^2 + c^2)
e := exp(b) - log(c)", hs),
  case("to_a_number", "cfa", "visual =~ x1 + a*x2 + x3
textual =~ x4 + x5 + x6
visual ~~ v*textual
a == 0.6
v == 0.5
twice := 2*a", hs),
  case("redundant", "cfa", "visual =~ x1 + a*x2 + b*x3
textual =~ x4 + c*x5 + d*x6
a == b
2*a == 2*b
c - d == a - b", hs),
  case("na_star", "cfa", "visual =~ NA*x1 + x2 + x3
visual ~~ 1*visual
textual =~ NA*x4 + 1*x5 + x6
speed =~ x7 + x8 + x9", hs),
  case("fixed_values", "cfa", "visual =~ x1 + 0.5*x2 + x3
textual =~ x4 + 1.2*x5 + x6
visual ~~ 0.4*textual
x1 ~~ 0.6*x1", hs, meanstructure = TRUE),
  case("equal_loadings", "cfa", three, hs, group = "school", group.equal = "loadings"),
  case("equal_intercepts", "cfa", three, hs, group = "school",
       group.equal = c("loadings", "intercepts")),
  case("equal_residuals", "cfa", three, hs, group = "school",
       group.equal = c("loadings", "intercepts", "residuals")),
  case("group_labels", "cfa", "visual =~ x1 + c(a1, a2)*x2 + c(b, b)*x3
textual =~ x4 + c(0.9, NA)*x5 + x6
a1 == 2*a2
gap := a1 - a2", hs, group = "school"),
  case("higher_order", "cfa", paste(three, "g =~ visual + textual + speed", sep = "\n"), hs),
  case("bifactor", "cfa", "g =~ x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9
speed =~ x7 + x8 + x9", hs, std.lv = TRUE, orthogonal = TRUE),
  case("mimic_fixed", "sem", paste(three, "visual ~ ageyr + sex
speed ~ ageyr + grade + visual", sep = "\n"), hs[complete.cases(hs), ]),
  case("mimic_fixed_mean", "sem", paste(three, "visual ~ ageyr + sex
speed ~ b*ageyr + grade
twelve := 12*b", sep = "\n"), hs[complete.cases(hs), ], meanstructure = TRUE),
  case("mimic_random", "sem", paste(three, "visual ~ ageyr + sex
speed ~ ageyr + sex", sep = "\n"), hs, fixed.x = FALSE),
  case("mimic_groups", "sem", "speed =~ x7 + x8 + x9
speed ~ ageyr + x1
x4 ~ speed + ageyr", hs, group = "school", group.equal = c("loadings", "regressions")),
  case("path_fixed", "sem", "x4 ~ a*x1 + x2
x7 ~ b*x4
x9 ~ x7 + x1
ab := a*b", hs),
  case("nonrecursive", "sem", "y1 ~ x1 + f*y2
y2 ~ x2 + g*y1
loop := f*g", flow, fixed.x = FALSE),
  case("reversed", "cfa", three, reversed, std.lv = TRUE),
  case("democracy", "sem", "ind60 =~ x1 + x2 + x3
dem60 =~ y1 + a*y2 + b*y3 + c*y4
dem65 =~ y5 + a*y6 + b*y7 + c*y8
dem60 ~ p*ind60
dem65 ~ q*ind60 + r*dem60
y1 ~~ y5
y2 ~~ y4 + y6
p*r == 1.2
indirect := p*r
total := q + p*r", pd),
  case("single_indicator", "sem", "f =~ 1*y1
y1 ~~ 0*y1
g =~ y5 + y6 + y7 + y8
g ~ f", pd),
  case("starts", "cfa", "visual =~ x1 + start(0.2)*x2 + start(3)*x3
textual =~ x4 + x5 + x6
x1 ~~ start(5)*x1", hs),
  case("heywood", "cfa", "f =~ y1 + y2 + y3", heywood),
  case("not_identified", "cfa", "visual =~ NA*x1 + x2 + x3
textual =~ x4 + x5 + x6", hs, identified = FALSE))

cat("{\"provenance\": ", json(paste0(R.version.string, ", lavaan ", packageVersion("lavaan"),
    ", sem_constraints.R; divisor n; se: expected information; rows in lavaan's order")), ",\n\"cases\": [\n",
    paste(sapply(cases, json), collapse = ",\n"), "\n]}\n", sep = "", file = commandArgs(TRUE)[1])
