% Runs exported rules over the states that come in, a line a state. What comes out is what the rules give.
try
  pkg load fuzzy-logic-toolkit
catch
  fputs (stderr, "Octave's package fuzzy-logic-toolkit is not installed");
  exit (3);
end_try_catch
arguments = argv ();
fis = readfis (arguments{1});
states = load ("-ascii", "states.txt");
warning ("off", "all");
outputs = evalfis (states, fis);
for row = 1 : rows (outputs)
  printf ("%.17g ", outputs(row, :));
  printf ("0\n");
endfor
fputs (stderr, "fuzzy-logic-toolkit\n");
