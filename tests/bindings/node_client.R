# node_client.R STEP NODE: a step of node_client_test.sh, by the R package.
library(partita)
words <- commandArgs(TRUE)
node <- partita_node(words[2])

study_called <- function(name) {
  study <- partita_study(name, c("north", "south", "west"), engine = "replicated", min_rows = 1000,
                         variables = list(readmitted = partita_variable("integer", 0, 1), age = c(18, 98),
                                          sex = c("female", "male")))
  partita_glm(study, readmitted ~ age + sex, binomial)
}
refused <- function(class, words, act) {
  condition <- tryCatch({
    act
    NULL
  }, partita_error = identity)
  stopifnot(inherits(condition, class), grepl(words, conditionMessage(condition), fixed = TRUE), nzchar(condition$hint))
}
expect_fit <- function(fit) {
  stopifnot(inherits(fit, "partita_glm"), fit$converged)
  wanted <- c(-2.75967963, 0.0258672056, 0.277778458)
  errors <- c(0.331452973, 0.00488089784, 0.125839254)
  stopifnot(all(abs(coef(fit) - wanted) < 0.02 * errors))
}

switch(words[1],
  run = {
    news <- character()
    fit <- withCallingHandlers(partita_node_run(node, study_called("from-the-package")),
                               partita_progress = function(at) news <<- c(news, at$phase))
    expect_fit(fit)
    stopifnot(any(grepl("proposed", news)))
  },
  follow = {
    expect_fit(partita_node_follow(node, "from-the-package"))
    stopifnot(nrow(partita_node_studies(node)) == 0)
    over <- partita_node_studies(node, over = TRUE)
    stopifnot(identical(over$name, "from-the-package"), over$proposer == "north", over$state == "finished")
    expect_fit(partita_node_follow(node, over$study))
  },
  elsewhere = refused("partita_not_released", "went to others", partita_node_follow(node, "from-the-package")),
  withdraw = {
    handle <- partita_node_run(node, study_called("not-wanted"), wait = FALSE)
    while (!"not-wanted" %in% partita_node_studies(node)$name) stopifnot(partita_status(handle)$running)
    number <- with(partita_node_studies(node), study[name == "not-wanted"])
    partita_node_withdraw(node, number, "we found a better question")
    refused("partita_refused", "we found a better question", partita_wait(handle))
    stopifnot(nzchar(handle$state$at$phase))
  },
  mistakes = {
    refused("partita_usage", "no study", partita_node_follow(node, "nobody-knows-it"))
    refused("partita_error", "no node", partita_node_studies(partita_node("nowhere")))
    other <- partita_study("others", c("east", "south", "west"), engine = "replicated", min_rows = 1000,
                           variables = list(age = c(18, 98), bmi = c(10, 60)))
    refused("partita_usage", "has no part in this study", partita_node_run(node, partita_glm(other, bmi ~ age, gaussian)))
  })
