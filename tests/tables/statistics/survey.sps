DATA LIST LIST NOTABLE /id (A4) group (F1.0) likert (F2.0) visit (ADATE10) weight (F8.4).
BEGIN DATA
a001 1 5 02/28/2020 71.25
a002 2 1 03/01/2020 60
a003 1 99 02/29/2020 0.1
a004 . 3 . 1e3
END DATA.
VARIABLE LABELS likert 'How well do you sleep'.
VALUE LABELS group 1 'control, plain' 2 'treated' /likert 1 'badly' 5 'well' 99 'refused'.
MISSING VALUES likert (99).
SAVE OUTFILE='survey.sav'.
SAVE OUTFILE='survey.zsav' /ZCOMPRESSED.
