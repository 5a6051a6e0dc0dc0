# Writes covariance.json: covariance matrices of coefficients of the mixed models of packages.json, slopes.json and laplace.json by R's
# lme4, for tests/methods/mixed. Of an intercept by REML and ML in the order of packages.json, likewise of slopes.
# Rscript tests/references/mixed/covariance.R > tests/references/mixed/covariance.json
suppressMessages(library(lme4))
suppressMessages(library(nlme, exclude = c("lmList", "VarCorr", "fixef", "ranef")))
number <- function(x) sprintf("%.12g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
rows <- function(m) listed(apply(as.matrix(m), 1, function(row) listed(number(row))))
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")
plain <- function(data) {
  data <- as.data.frame(data)
  for (name in names(data)) if (is.factor(data[[name]])) data[[name]] <- factor(as.character(data[[name]]))
  data
}
linear <- function(formula, random, data) {
  data <- plain(data)
  listed(sapply(c(TRUE, FALSE), function(reml) {
    full <- as.formula(paste(deparse(formula, 300), "+", random))
    fit <- lmer(full, data, REML = reml, control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5)))
    rows(vcov(fit))
  }))
}
wards <- do.call(rbind, lapply(c("north", "south", "west"), function(site) {
  rows <- read.csv(file.path("examples/ward_recovery", site, "data.csv"))
  rows$group <- paste(site, rows$ward)
  rows
}))
wards <- wards[complete.cases(wards), ]
ward_factors <- transform(wards, therapy = factor(therapy, c("usual", "new")), severity = factor(severity, c("mild", "moderate", "severe")),
                          good = as.integer(score > 60))
with_levels <- function(formula, random) listed(sapply(c(TRUE, FALSE), function(reml) {
  fit <- lmer(as.formula(paste(deparse(formula, 300), "+", random)), ward_factors, REML = reml,
              control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5)))
  rows(vcov(fit))
}))
laplace <- function(formula, family, group, data) {
  data$cluster <- match(data[[group]], unique(data[[group]]))
  fit <- glmer(update(formula, . ~ . + (1 | cluster)), data, family,
               control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(rhobeg = 0.01, rhoend = 1e-9, maxfun = 100000)))
  fit <- update(fit, start = getME(fit, c("theta", "fixef")))
  rows(vcov(fit, use.hessian = TRUE))
}
rows_of_herds <- do.call(rbind, lapply(seq_len(nrow(cbpp)), function(i) {
  herd <- cbpp[i, ]
  data.frame(ill = rep(c(1, 0), c(herd$incidence, herd$size - herd$incidence)), period = herd$period, herd = herd$herd)
}))
ticks <- transform(grouseticks, height = (HEIGHT - 460) / 80)
visits <- do.call(rbind, lapply(c("north", "south", "west"), function(site) {
  rows <- read.csv(file.path("examples/clinic_visits", site, "data.csv"))
  rows$group <- paste(site, rows$patient)
  rows
}))
visits <- visits[complete.cases(visits), ]
visits$new <- as.numeric(visits$arm == "new")
fits <- c(
  sleepstudy = linear(Reaction ~ Days, "(1 | Subject)", sleepstudy),
  orthodont = linear(distance ~ age + Sex, "(1 | Subject)", Orthodont),
  machines = linear(score ~ Machine, "(1 | Worker)", Machines),
  stools = linear(effort ~ Type, "(1 | Subject)", ergoStool),
  rails = linear(travel ~ 1, "(1 | Rail)", Rail),
  wards = with_levels(score ~ age + therapy + severity, "(1 | group)"),
  slopes_sleepstudy = linear(Reaction ~ Days, "(1 + Days | Subject)", sleepstudy),
  slopes_orthodont = linear(distance ~ age + Sex, "(1 + age | Subject)", Orthodont),
  slopes_visits = linear(pain ~ month * new + age, "(1 + month | group)", visits),
  herds = laplace(ill ~ period, binomial, "herd", rows_of_herds),
  ticks = laplace(TICKS ~ YEAR + height, poisson, "BROOD", ticks),
  laplace_wards = laplace(good ~ age + therapy + severity, binomial, "group", ward_factors))
# Of the example's wards by REML: errors of the means of two rows, and a test that severities do not differ, for bindings.
ward_fit <- lmer(score ~ age + therapy + severity + (1 | group), ward_factors, control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5)))
v <- as.matrix(vcov(ward_fit))
at <- rbind(c(1, 70, 1, 0, 1), c(1, 45, 0, 1, 0))
equal <- rbind(c(0, 0, 0, 1, 0), c(0, 0, 0, 0, 1))
difference <- equal %*% fixef(ward_fit)
fits <- c(fits, ward_predictions = object(c(error = listed(number(sqrt(diag(at %*% v %*% t(at))))),
                                            statistic = number(drop(t(difference) %*% solve(equal %*% v %*% t(equal), difference)))), "  "))
cat(object(fits, ""), "\n", sep = "")
