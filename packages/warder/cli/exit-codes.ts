import { constants } from 'node:os'

/** A signature or a MAC was checked, and it is not one: not the same as a check that could not be made (1). */
export const exitNotValid = 3

/** Exit code that a shell sees of a command that a signal has ended. */
export function toExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/** Lines of the help. */
export const exitCodesHelp = `Exit codes: 0 done; 1 it failed, one line on standard error says why; 2 called wrongly; 3 checked, and not valid
(verify, mac --verify); 130 interrupted (Ctrl-C), 143 terminated.`
