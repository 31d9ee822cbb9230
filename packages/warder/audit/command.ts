import { setTimeout } from 'node:timers/promises'
import { exportAudit } from '@warder/foundation/audit'
import { UsageError } from '../cli/command.ts'
import { requireNoNames } from '../cli/options.ts'
import { refusalOf } from '../cli/refused.ts'
import { type HomeContext, homeVerb, verbCommand } from '../cli/verb-command.ts'
import { type Logs, logNamed, logsOf } from './logs.ts'
import { verifyLogs } from './verify.ts'

/** Longer than a service takes to write a line. */
const writingMs = 200

const verify = homeVerb({
  name: 'verify',
  words: '[FILE|FOLDER]',
  summary: 'recomputes the chain of hashes and prints the first line that is broken',
  about: `Exit code 1 when there is one, when the last line is torn, and when a log holds no record or is gone. Without a
path: both services' logs of the home. A log that lost whole lines at its end still verifies; keep the head that is
printed somewhere else and give it back as --expect-head.`,
  examples: ['warder audit verify'],
  options: {
    'expect-head': { type: 'text', value: 'SEQ:HASH', help: 'the head that the one log has to have' },
  },
  parse({ 'expect-head': head }, [path, ...rest]) {
    requireNoNames(rest)
    return async (context) => {
      try {
        const logs = logsAt(path, context)
        return await verifyLogs(logs, head, context.terminal, () => setTimeout(writingMs))
      } catch (error) {
        throw refusalOf(error)
      }
    }
  },
})

const exportRecords = homeVerb({
  name: 'export',
  words: '[FOLDER]',
  summary: 'prints the records, one a line, as JSON or as CEF for a SIEM',
  about: 'TIME is RFC 3339: 2026-11-21T00:00:00Z',
  examples: ['warder audit export --format cef --since 2026-11-01T00:00:00Z > audit.cef'],
  options: {
    format: { type: 'text', value: 'json|cef', help: 'how they are written (default json)' },
    since: { type: 'text', value: 'TIME', help: 'from then on' },
    until: { type: 'text', value: 'TIME', help: 'before then' },
  },
  parse({ format = 'json', since, until }, [path, ...rest]) {
    requireNoNames(rest)
    if (format !== 'json' && format !== 'cef') {
      throw new UsageError(`--format is json or cef, not '${format}'`)
    }
    const times = { ...timeOption('since', since), ...timeOption('until', until) }
    return async (context) => {
      const { terminal } = context
      try {
        for (const folder of logsAt(path, context).paths) {
          for await (const line of exportAudit({ folder, format, ...times })) {
            if (terminal.isGone?.() === true) return 0
            terminal.out(line)
          }
        }
        return 0
      } catch (error) {
        throw refusalOf(error)
      }
    }
  },
})

/** The log at a path, else those of the home. */
function logsAt(path: string | undefined, { home, terminal }: HomeContext): Logs {
  return path === undefined ? logsOf(home, terminal.env) : logNamed(path)
}

export const audit = verbCommand({
  name: 'audit',
  summary: 'verifies the chained audit log, or exports it',
  about: 'Without a path: the logs of both services of the home.',
  verbs: [verify, exportRecords],
})

function timeOption<Name extends string>(name: Name, value: string | undefined): { [K in Name]?: number } {
  if (value === undefined) return {}
  const time = Date.parse(value)
  if (Number.isNaN(time))
    throw new UsageError(`--${name} is a time like 2026-11-21T00:00:00Z, not '${value}'`)
  return { [name]: time } as { [K in Name]?: number }
}
