import { constants } from 'node:os'

/** An invalid signature or MAC, as opposed to a check that failed (1). */
export const exitNotValid = 3

/** Exit code that a shell reports for a command that a signal ended. */
export function toExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/** Help lines about exit codes. */
export const exitCodesHelp = `Exit codes: 0 success; 1 failure, with the reason on standard error; 2 usage error; 3 invalid signature or MAC
(verify, mac --verify); 130 interrupted (Ctrl-C), 143 terminated.`
