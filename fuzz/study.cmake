partita_fuzz(approval_fuzz approval_fuzz.cc DEPENDS partita_study)
partita_fuzz(study_file_fuzz study_file_fuzz.cc DEPENDS partita_study)
