import { constants } from 'node:os'

/** An invalid signature or MAC, as opposed to a check that failed (1). */
export const exitNotValid = 3

/** Exit code that a shell reports for a command that a signal ended. */
export function toExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/** Help lines about exit codes. */
export const exitCodesHelp = `Exit codes: 0 done; 1 it failed, one line on standard error says why; 2 called wrongly; 3 checked, and not valid
(verify, mac --verify); 130 interrupted (Ctrl-C), 143 terminated.`
