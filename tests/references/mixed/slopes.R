# Writes slopes.json: linear mixed models with a random intercept and slope that may be correlated, by R's packages lme4 and nlme, of tables
# that these come with and of the example examples/clinic_visits, for tests/stats/mixed and tests/methods/mixed.
# Rscript tests/references/mixed/slopes.R > tests/references/mixed/slopes.json
library(nlme)
number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")

# Of the logarithms of the deviations of intercepts, slopes and within, and of atanh of the correlation (third): from the Hessian of the
# likelihood with dense covariance matrices, with the coefficients at their maximum. nlme has them from differences with steps of the
# parameters' own size, which are noise where the correlation is near 0; where the fit is singular there are none.
psi_errors <- function(formula, slope, group, data, reml, psi) {
  if (abs(tanh(psi[3])) > 0.9999) return(numeric(0))
  y <- model.response(model.frame(formula, data)); x <- model.matrix(formula, data); z <- x[, slope]; same <- outer(data[[group]], data[[group]], "==")
  log_likelihood <- function(psi) {
    s <- exp(psi[c(1, 2, 4)]); rho <- tanh(psi[3])
    v <- same * (s[1]^2 + rho * s[1] * s[2] * outer(z, z, "+") + s[2]^2 * outer(z, z)) + diag(s[3]^2, length(y))
    root <- chol(v); w <- backsolve(root, cbind(x, y = y), transpose = TRUE); dimnames(w) <- list(NULL, c(colnames(x), "y")); a <- crossprod(w[, colnames(x), drop = FALSE])
    r <- lm.fit(w[, colnames(x), drop = FALSE], w[, "y"])$residuals
    -sum(log(diag(root))) - sum(r^2) / 2 - if (reml) determinant(a)$modulus / 2 else 0
  }
  hessian <- function(h) {
    m <- matrix(0, 4, 4)
    for (i in 1:4) for (j in 1:4) {
      at <- function(a, b) { p <- psi; p[i] <- p[i] + a * h; p[j] <- p[j] + b * h; log_likelihood(p) }
      m[i, j] <- (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * h^2)
    }
    m
  }
  # Richardson's extrapolation.
  sqrt(diag(solve(-(4 * hessian(0.005) - hessian(0.01)) / 3)))
}

fit <- function(formula, slope, group, data, reml) {
  r <- lme4::lmer(as.formula(paste(deparse(formula, 300), "+ (1 +", slope, "|", group, ")")), data, REML = reml,
                  control = lme4::lmerControl(optimizer = "nloptwrap", optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-14, maxeval = 1e5)))
  r <- lme4::lmer(formula(r), data, REML = reml, start = lme4::getME(r, "theta"),
                  control = lme4::lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5)))
  v <- as.data.frame(lme4::VarCorr(r))
  m <- lme(formula, data, random = as.formula(paste("~", slope, "|", group)), method = if (reml) "REML" else "ML",
           control = lmeControl(msTol = 1e-12, tolerance = 1e-12, returnObject = TRUE, opt = "optim", optimMethod = "BFGS", reltol = 1e-14))
  errors <- psi_errors(formula, slope, group, data, reml, c(log(v$sdcor[1:2]), atanh(v$sdcor[3]), log(v$sdcor[4])))
  object(c(reml = if (reml) "true" else "false", estimate = listed(number(lme4::fixef(r))),
           standard_error = listed(number(sqrt(diag(as.matrix(vcov(r)))))),
           deviations = listed(number(c(v$sdcor[1:2], v$sdcor[4]))), correlation = number(v$sdcor[3]),
           criterion = number(-2 * as.numeric(logLik(r))), aic = number(AIC(r)), bic = number(BIC(r)),
           lme_log_likelihood = number(logLik(m)), psi_errors = listed(number(errors))), "      ")
}
table <- function(source, formula, slope, group, data) {
  data <- as.data.frame(data)
  data[[group]] <- as.character(data[[group]])
  for (name in names(data)) if (is.factor(data[[name]])) data[[name]] <- factor(as.character(data[[name]]))
  y <- model.response(model.frame(formula, data))
  x <- model.matrix(formula, data)
  cluster <- match(data[[group]], unique(data[[group]]))
  object(c(source = paste0("\"", source, "\""), formula = paste0("\"", deparse(formula, 300), "\""),
           columns = listed(paste0("\"", colnames(x), "\"")), slope = which(colnames(x) == slope) - 1, x = listed(number(t(x))), y = listed(number(y)),
           cluster = listed(cluster - 1),
           fits = paste0("[\n      ", fit(formula, slope, group, data, TRUE), ",\n      ", fit(formula, slope, group, data, FALSE), "\n    ]")), "  ")
}
visits <- do.call(rbind, lapply(c("north", "south", "west"), function(site) {
  rows <- read.csv(file.path("examples/clinic_visits", site, "data.csv"))
  rows$group <- paste(site, rows$patient)
  rows
}))
visits <- visits[complete.cases(visits), ]
visits$new <- as.numeric(visits$arm == "new")
body <- as.data.frame(BodyWeight)
tables <- c(sleepstudy = table("lme4 sleepstudy", Reaction ~ Days, "Days", "Subject", lme4::sleepstudy),
            orthodont = table("nlme Orthodont", distance ~ age + Sex, "age", "Subject", Orthodont),
            oxboys = table("nlme Oxboys", height ~ age, "age", "Subject", Oxboys),
            body_weight = table("nlme BodyWeight", weight ~ Time + Diet, "Time", "Rat", body),
            visits = table("examples/clinic_visits", pain ~ month * new + age, "month", "group", visits),
            dialyzer = table("nlme Dialyzer", rate ~ pressure + QB, "pressure", "Subject", Dialyzer))
cat(object(tables, ""), "\n", sep = "")
