partita_fuzz(approval_fuzz approval_fuzz.cc DEPENDS partita_study)
