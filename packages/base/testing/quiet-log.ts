import assert from 'node:assert/strict'
import type { Logger } from '../counters.ts'

/** Takes every line and keeps none. */
export const quietLog: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => quietLog,
}

/** As `quietLog`, but an error in the log is an error of the test. */
export const strictLog: Logger = {
  ...quietLog,
  error: (_fields, message) => assert.fail(message),
  child: () => strictLog,
}
