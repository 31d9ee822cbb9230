import { setTimeout } from 'node:timers/promises'
import { exportAudit } from '@warder/foundation/audit'
import { type Command, expectNothing, homeOf, takeOption, UsageError } from '../cli/command.ts'
import { refusalOf } from '../cli/refused.ts'
import { logNamed, logsOf } from './logs.ts'
import { verifyLogs } from './verify.ts'

/** Longer than a service takes to write a line. */
const writingMs = 200

export const audit: Command = {
  name: 'audit',
  summary: 'verifies the chained audit log, or exports it',
  help: `warder audit verify [FILE|FOLDER] [--home DIR] [--expect-head SEQ:HASH]
warder audit export [FOLDER] [--home DIR] [--format json|cef] [--since TIME] [--until TIME]

verify   recomputes the chain of hashes and prints the first line that is broken; exit code 1 when there is one,
         when the last line is torn, and when a log holds no record or is gone. Without a path: both services' logs
         of the home. A log that lost whole lines at its end still verifies; keep the head that is printed somewhere
         else and give it back as --expect-head.
export   prints the records, one a line, as JSON or as CEF for a SIEM. TIME is RFC 3339: 2026-11-21T00:00:00Z

Example:
  warder audit verify
  warder audit export --format cef --since 2026-11-01T00:00:00Z > audit.cef`,
  async run(args, terminal) {
    const home = takeOption(args, 'home')
    const format = takeOption(home.rest, 'format')
    const since = takeOption(format.rest, 'since')
    const until = takeOption(since.rest, 'until')
    const head = takeOption(until.rest, 'expect-head')
    const [verb, path, ...rest] = head.rest
    expectNothing(rest)
    if (verb !== 'verify' && verb !== 'export') throw new UsageError('say what to do: verify or export')
    if (format.value !== undefined && format.value !== 'json' && format.value !== 'cef') {
      throw new UsageError(`--format is json or cef, not '${format.value}'`)
    }
    const times = { ...timeOption('since', since.value), ...timeOption('until', until.value) }
    const logs = path === undefined ? logsOf(homeOf(home.value, terminal.env), terminal.env) : logNamed(path)
    try {
      if (verb === 'verify') return await verifyLogs(logs, head.value, terminal, () => setTimeout(writingMs))
      for (const folder of logs.paths) {
        for await (const line of exportAudit({ folder, format: format.value ?? 'json', ...times })) {
          if (terminal.isGone?.() === true) return 0
          terminal.out(line)
        }
      }
      return 0
    } catch (error) {
      throw refusalOf(error)
    }
  },
}

function timeOption<Name extends string>(name: Name, value: string | undefined): { [K in Name]?: number } {
  if (value === undefined) return {}
  const time = Date.parse(value)
  if (Number.isNaN(time))
    throw new UsageError(`--${name} is a time like 2026-11-21T00:00:00Z, not '${value}'`)
  return { [name]: time } as { [K in Name]?: number }
}
