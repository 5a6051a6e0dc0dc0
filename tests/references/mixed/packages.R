# Writes packages.json: linear mixed models with a random intercept by R's packages nlme and lme4, of tables that nlme and lme4 come
# with and of the example examples/ward_recovery, for tests/stats/mixed and tests/methods/mixed.
# Rscript tests/references/mixed/packages.R > tests/references/mixed/packages.json
library(nlme)
number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")

fit <- function(formula, group, data, reml) {
  random <- as.formula(paste("~ 1 |", group))
  m <- lme(formula, data, random = random, method = if (reml) "REML" else "ML",
           control = lmeControl(msTol = 1e-12, tolerance = 1e-12, returnObject = TRUE, opt = "optim", optimMethod = "BFGS", reltol = 1e-14))
  # A Wald interval of log variances, from the Hessian.
  interval <- intervals(m)
  r <- lme4::lmer(as.formula(paste(deparse(formula, 300), "+ (1 |", group, ")")), data, REML = reml,
                  control = lme4::lmerControl(optCtrl = list(xtol_abs = 1e-12, ftol_abs = 1e-14)))
  variances <- as.data.frame(lme4::VarCorr(r))$vcov
  se <- sqrt(diag(as.matrix(vcov(r))))
  object(c(reml = if (reml) "true" else "false", estimate = listed(number(lme4::fixef(r))), standard_error = listed(number(se)),
           sigma_squared = number(variances[2]), tau_squared = number(variances[1]), criterion = number(-2 * as.numeric(logLik(r))),
           icc = number(variances[1] / sum(variances)), aic = number(AIC(r)), bic = number(BIC(r)),
           lme_estimate = listed(number(fixef(m))), lme_standard_error = listed(number(sqrt(diag(m$varFix)))),
           lme_sigma_squared = number(m$sigma^2), lme_tau_squared = number(as.numeric(VarCorr(m)[1, 1])),
           lme_log_likelihood = number(logLik(m)),
           within_interval = listed(number(unname(interval$sigma[c(1, 3)])^2)),
           between_interval = listed(number(unlist(interval$reStruct[[1]][c(1, 3)])^2))), "      ")
}
table <- function(source, formula, group, data) {
  data <- as.data.frame(data)
  y <- model.response(model.frame(formula, data))
  x <- model.matrix(formula, data)
  cluster <- match(data[[group]], unique(data[[group]]))
  object(c(source = paste0("\"", source, "\""), formula = paste0("\"", deparse(formula, 300), "\""),
           columns = listed(paste0("\"", colnames(x), "\"")), x = listed(number(t(x))), y = listed(number(y)), cluster = listed(cluster - 1),
           fits = paste0("[\n      ", fit(formula, group, data, TRUE), ",\n      ", fit(formula, group, data, FALSE), "\n    ]")), "  ")
}
plain <- function(data) {
  for (name in names(data)) if (is.factor(data[[name]])) data[[name]] <- factor(as.character(data[[name]]))
  data
}
wards <- do.call(rbind, lapply(c("north", "south", "west"), function(site) {
  rows <- read.csv(file.path("examples/ward_recovery", site, "data.csv"))
  rows$group <- paste(site, rows$ward)
  rows
}))
wards <- wards[complete.cases(wards), ]
wards$therapy <- factor(wards$therapy, c("usual", "new"))
wards$severity <- factor(wards$severity, c("mild", "moderate", "severe"))
tables <- c(sleepstudy = table("lme4 sleepstudy", Reaction ~ Days, "Subject", plain(lme4::sleepstudy)),
            orthodont = table("nlme Orthodont", distance ~ age + Sex, "Subject", plain(Orthodont)),
            machines = table("nlme Machines", score ~ Machine, "Worker", plain(Machines)),
            stools = table("nlme ergoStool", effort ~ Type, "Subject", plain(ergoStool)),
            rails = table("nlme Rail", travel ~ 1, "Rail", plain(Rail)),
            wards = table("examples/ward_recovery", score ~ age + therapy + severity, "group", wards))
cat(object(tables, ""), "\n", sep = "")
