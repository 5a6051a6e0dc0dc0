# Studies, runs and errors with the program itself; without it nothing here can be done.
program <- tryCatch(partita_program(), partita_program = function(e) "")
if (!nzchar(program)) exit_file("the program partita is not there")
expect_true(partita_version() >= "0.1.0")

# What is written reads back as the same numbers.
values <- c(rnorm(1e5), 0.1 + 0.2, 1e-300, 1e300, 2^53, -0.5, pi)
expect_identical(as.numeric(partita:::cell_texts(values)), values)
file <- tempfile()
partita:::write_table(data.frame(x = values[1:1000], f = "a, \"b\"", d = as.Date("2024-02-29"), l = TRUE), file)
back <- read.csv(file)
expect_identical(back$x, values[1:1000])
expect_equal(unique(back$f), "a, \"b\"")
expect_equal(c(back$d[1], back$l[1]), c("2024-02-29", "1"))
expect_equal(partita:::cell_texts(c(1.5, NA), ","), c("1,5", ""))
expect_equal(partita:::cell_texts(c(1e5, 1e15, 2^53 - 1, -1e15)),
             c("100000", "1000000000000000", "9007199254740991", "-1000000000000000"))
# The bits of 64-bit integers, from their bytes.
integer64 <- function(...) {
  bytes <- as.raw(c(...))
  structure(readBin(bytes, "double", length(bytes) / 8, endian = "little"), class = "integer64")
}
keys <- integer64(c(21, 129, 233, 125, 244, 16, 34, 17), rep(255, 8), c(7, rep(0, 7)), rep(0, 8), c(rep(0, 7), 128),
                  c(0, rep(255, 7)), c(rep(255, 7), 127))
expect_equal(partita:::cell_texts(keys), c("1234567890123456789", "-1", "7", "0", "", "-256", "9223372036854775807"))
one <- data.frame(age = 0)
one$age <- integer64(c(70, rep(0, 7)))
expect_equal(partita:::linear_predictor("age", 1, one), 70)

# One value in each row, or a refusal.
odd <- data.frame(a = 1:2)
odd$m <- matrix(1:4, 2)
expect_error(partita:::write_table(odd, file), "one value", class = "partita_usage")
odd$m <- list(1:2, 3)
expect_error(partita:::write_table(odd, file), "one value", class = "partita_usage")
odd$m <- as.difftime(1:2, units = "days")
expect_error(partita:::write_table(odd, file), class = "partita_usage")
expect_error(partita:::write_table(1:3, file), class = "partita_usage")
expect_error(partita:::write_table(data.frame(id = 2^53 + 2), file, key = "id"), "exactly", class = "partita_usage")

# As a study file takes them.
expect_equal(partita:::toml_text("a </b"), "\"a </b\"")
expect_equal(partita:::option_words(list("min-rows" = 1e5, seed = 123456789)), c("--min-rows", "100000", "--seed", "123456789"))
expect_error(partita:::toml_scalar(NA_real_), class = "partita_usage")
expect_equal(partita:::setting_words(list(risk_groups = list(cuts = 0.1))), c("--set", "risk_groups.cuts=[0.1]"))
coded <- partita:::dictionary_text(list(x = partita_variable("integer", 0, 10, missing_codes = c(-9, 99)),
                                        y = partita_variable("factor", levels = c("a", "b"), missing_codes = "n.d.")))
expect_true(grepl("missing_codes = [\"-9\", \"99\"]", coded[["x"]], fixed = TRUE))
expect_true(grepl("missing_codes = [\"n.d.\"]", coded[["y"]], fixed = TRUE))
expect_equal(partita:::table_key("[table]\n  separator = ';'", "separator", ","), ";")

# A study of one's own data frames, against the fit of the rows together.
set.seed(7)
rows <- data.frame(age = round(runif(900, 20, 90), 1), sex = sample(c("female", "male"), 900, TRUE))
rows$event <- rbinom(900, 1, plogis(-3 + 0.04 * rows$age + 0.5 * (rows$sex == "male")))
tables <- split(rows, rep(c("north", "south", "west"), 300))
study <- partita_study("events", c("north", "south", "west"), min_rows = 500,
                       variables = list(event = partita_variable("integer", 0, 1), age = c(18, 98),
                                        sex = c("female", "male")))
expect_error(partita_plan(study), class = "partita_usage")
study <- partita_glm(study, event ~ age + sex, binomial)
expect_true(grepl("formula = \"event ~ age + sex\"", format(study), fixed = TRUE))
expect_equal(partita_validate(study), character())
plan <- partita_plan(study, latency = "20ms")
expect_true(plan$raw$totals$rounds > 10)
expect_stdout(print(plan), "north")
expect_stdout(print(plan), "Gives away:")
expect_stdout(print(plan), "no bound")

seen <- character()
fit <- withCallingHandlers(
  partita_simulate(study, tables, progress = TRUE),
  partita_progress = function(at) {
    seen <<- c(seen, at$phase)
    invokeRestart("partita_muffle")
  })
expect_true(length(seen) > 0)
pooled <- glm(event ~ age + sex, binomial, rows)
steps <- vapply(fit$body$coefficients, function(row) row$step, 0)
# Estimates open on a grid; its step bounds how far they are.
expect_true(all(abs(coef(fit) - coef(pooled)) <= steps))
expect_equal(nobs(fit), 900)
expect_equal(predict(fit, rows[1:5, ], type = "response"),
             unname(predict(pooled, rows[1:5, ], type = "response")), tolerance = 0.05)

# The same from files, with the result written; and again as processes.
folder <- tempfile()
dir.create(folder)
for (party in names(tables)) write.csv(tables[[party]], file.path(folder, paste0(party, ".csv")), row.names = FALSE)
paths <- as.list(file.path(folder, paste0(names(tables), ".csv")))
names(paths) <- names(tables)
again <- partita_simulate(study, paths, in_process = TRUE, output = file.path(folder, "result.json"))
expect_true(all(abs(coef(again) - coef(fit)) <= steps))
expect_equal(coef(read_result(file.path(folder, "result.json"))), coef(again))

written <- file.path(folder, "study.toml")
write_study(study, written)
expect_error(write_study(study, written), class = "partita_usage")
expect_equal(partita_plan(read_study(written))$raw$plan_hash, plan$raw$plan_hash)

# Errors have the class of their code, a hint, and leave nothing behind.
bad <- tryCatch(partita_glm(study, "x ~ y"), partita_usage = identity)
expect_true(nzchar(bad$hint))
wrong <- tables
wrong$south$age[1] <- 500
error <- tryCatch(partita_simulate(study, wrong), partita_error = identity)
expect_inherits(error, "partita_bad_data")
expect_equal(error$exit_code, 7)
expect_error(read_study("nowhere.toml"), class = "partita_usage")
expect_equal(list.files(tempdir(), "^partita-"), character())

# Each party runs in its own folder, as between hosts.
free_port <- function() {
  for (port in sample(20000:30000, 100)) {
    socket <- tryCatch(serverSocket(port), error = function(e) NULL)
    if (is.null(socket)) next
    close(socket)
    return(port)
  }
}
roster <- file.path(folder, "roster.toml")
own <- function(party, file = "") file.path(folder, paste0("host-", party), file)
for (party in names(tables)) {
  processx::run(program, c("cert", "new", party, "--folder", own(party)))
  processx::run(program, c("cert", "roster", roster, "--certificate", own(party, "cert.pem"), "--address",
                           paste0("127.0.0.1:", free_port())))
}
handles <- lapply(setNames(nm = names(tables)), function(party) {
  file.copy(roster, own(party))
  write_study(study, own(party, "study.toml"))
  partita_run(read_study(own(party, "study.toml")), own(party), party, tables[[party]], options = "--approve", wait = FALSE)
})
expect_stdout(print(handles$north), "events")
ends <- lapply(handles, partita_wait)
expect_true(all(abs(coef(ends$north) - coef(fit)) <= steps))
expect_equal(c(length(ends$south), length(ends$west)), c(0, 0))
expect_stdout(print(ends$south), "at the receiver")
expect_false(partita_status(handles$north)$running)

# R's families go with their links, or are refused.
counts <- partita_study("counts", c("north", "south", "west"), min_rows = 500,
                        variables = list(n = partita_variable("integer", 0, 20), event = partita_variable("integer", 0, 1),
                                         size = c(1, 10), age = c(18, 98)))
for (family in list(poisson("identity"), poisson("sqrt"))) {
  expect_error(partita_glm(counts, n ~ age, family), "link", class = "partita_bad_input")
}
expect_error(partita_glm(counts, size ~ age, gaussian("log")), "link", class = "partita_bad_input")
expect_error(partita_glm(counts, size ~ age, Gamma()), "link", class = "partita_bad_input")
expect_error(partita_glm(counts, event ~ age, quasibinomial("probit")), "link", class = "partita_bad_input")
expect_true(grepl("\"gamma\"", format(partita_glm(counts, size ~ age, Gamma("log"))), fixed = TRUE))
expect_true(grepl("\"quasi-poisson\"", format(partita_glm(counts, n ~ age, quasipoisson)), fixed = TRUE))
expect_true(grepl("link = \"probit\"", format(partita_glm(counts, event ~ age, binomial("probit"))), fixed = TRUE))

# Levels and other contrasts than treatment.
lettered <- lapply(tables, function(table) transform(table, g = rep(c("a", "b", "not known"), length.out = nrow(table))))
of_levels <- partita_study("levels", names(tables), min_rows = 800,
                           variables = list(event = partita_variable("integer", 0, 1), g = c("a", "b", "not known"),
                                            age = c(18, 98)))
of_levels <- partita_glm(of_levels, event ~ g + age)
file <- file.path(folder, "sum.toml")
writeLines(sub("(levels = \\[[^]]*\\])", "\\1\ncontrasts = \"sum\"", format(of_levels)), file)
levels <- data.frame(g = c("a", "b", "not known"), age = 60)
wanted <- unname(predict(glm(event ~ g + age, binomial, do.call(rbind, lettered)), levels))
by_treatment <- partita_simulate(of_levels, lettered, in_process = TRUE)
expect_equal(predict(by_treatment, levels), wanted, tolerance = 0.02)
by_sum <- partita_simulate(read_study(file), lettered, in_process = TRUE)
expect_equal(predict(by_sum, levels), wanted, tolerance = 0.02)
expect_error(predict(by_sum, levels, reference = c(g = "a")), "its contrasts are sum", class = "partita_usage")

# A run without a key cannot start; one that waits for others is cancelled.
expect_error(partita_run(study, folder = folder, party = "north"), class = "partita_error")
waiting <- partita_run(read_study(own("north", "study.toml")), own("north"), "north", tables$north, wait = FALSE,
                       options = "--force")
expect_true(partita_status(waiting)$running)
partita_cancel(waiting)
expect_false(partita_status(waiting)$running)
expect_error(partita_wait(waiting), class = "partita_cancelled")
old <- options(partita.path = "/nowhere/partita")
expect_error(partita_program(), class = "partita_program")
expect_error(partita_run(study, folder, "north", tables$north), class = "partita_program")
expect_equal(list.files(tempdir(), "^partita-"), character())
options(old)
