# Writes covariance.json: covariance matrices of the Cox models of survival.json by R's coxph (of the model, robust, of clusters), for
# tests/methods/survival.
# Rscript tests/references/survival/covariance.R > tests/references/survival/covariance.json
library(survival)
lung <- read.csv("tests/tables/lgpl/lung.csv")
veteran <- read.csv("tests/tables/lgpl/veteran.csv")
lung_months <- transform(lung, time = ceiling(time / 30))
lung_late <- subset(transform(lung, enter = ifelse(age > 63, 40, 0)), enter < time)
plain <- Surv(time, status) ~ age + sex + ph.ecog
layered <- Surv(time, status) ~ age + ph.ecog + strata(sex)
many <- Surv(time, status) ~ trt + karno + age + strata(celltype)
late <- Surv(enter, time, status) ~ age + sex + ph.ecog
factors <- Surv(time, status) ~ karno + factor(celltype, c("squamous", "smallcell", "adeno", "large"))

number <- function(x) sprintf("%.15g", x)
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
rows <- function(m) listed(apply(m, 1, function(row) listed(number(row))))
object <- function(fields, pad) paste0("{\n", paste0(pad, "  \"", names(fields), "\": ", fields, collapse = ",\n"), "\n", pad, "}")
cox <- function(formula, data, ties) {
  environment(formula) <- environment()
  fit <- coxph(formula, data, ties = ties, eps = 1e-12, toler.chol = 1e-14, iter.max = 50)
  data$own <- seq_len(nrow(data))
  clusters <- if (is.null(data$inst)) c() else c(cluster = rows(vcov(update(fit, cluster = inst))))
  object(c(model = rows(vcov(fit)), robust = rows(vcov(update(fit, cluster = own))), clusters), "  ")
}
fits <- c(
  cox_lung_breslow = cox(plain, lung, "breslow"), cox_lung_efron = cox(plain, lung, "efron"),
  cox_months_breslow = cox(plain, lung_months, "breslow"), cox_months_efron = cox(plain, lung_months, "efron"),
  cox_strata_breslow = cox(layered, lung, "breslow"),
  cox_late_breslow = cox(late, lung_late, "breslow"), cox_late_efron = cox(late, lung_late, "efron"),
  cox_veteran_breslow = cox(many, veteran, "breslow"), cox_veteran_efron = cox(many, veteran, "efron"),
  veteran_cells = cox(factors, veteran, "breslow"))
# The example's patients: errors of the log hazards of two rows from covariates of 0 on, and a test of two hypotheses, that arms do
# not differ and stages II and III neither, for bindings.
trial <- do.call(rbind, lapply(c("north", "south", "west"), function(site) read.csv(file.path("examples/trial_survival", site, "data.csv"))))
trial <- transform(trial, arm = factor(arm, c("control", "treated")), sex = factor(sex, c("female", "male")), stage = factor(stage, c("I", "II", "III")))
fit <- coxph(Surv(days, died) ~ arm + age + sex + stage, trial, ties = "efron", eps = 1e-12, toler.chol = 1e-14, iter.max = 50)
at <- rbind(c(1, 70, 0, 1, 0), c(0, 55, 1, 0, 1))
equal <- rbind(c(1, 0, 0, 0, 0), c(0, 0, 0, 1, -1))
difference <- equal %*% coef(fit)
fits <- c(fits, trial = object(c(model = rows(vcov(fit)), error = listed(number(sqrt(diag(at %*% vcov(fit) %*% t(at))))),
                                 statistic = number(drop(t(difference) %*% solve(equal %*% vcov(fit) %*% t(equal), difference)))), "  "))
cat(object(fits, ""), "\n", sep = "")
