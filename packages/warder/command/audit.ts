import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { exportAudit, verifyAudit } from '@warder/foundation/audit'
import { StartupError } from '@warder/foundation/errors'
import { type Command, expectNothing, homeOf, type Terminal, takeOption, UsageError } from './command.ts'

export const audit: Command = {
  name: 'audit',
  summary: 'verifies the chained audit log, or exports it',
  help: `warder audit verify [FILE|FOLDER] [--home DIR] [--expect-head SEQ:HASH]
warder audit export [FOLDER] [--home DIR] [--format json|cef] [--since TIME] [--until TIME]

verify   recomputes the chain of hashes and prints the first line that is broken; exit code 1 when there is one.
         Without a path: both services' logs of the home. A log that was cut off at its end still verifies; keep the
         head that is printed somewhere else and give it back as --expect-head.
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
    const folders = path === undefined ? logsOf(homeOf(home.value, terminal.env)) : [resolve(path)]
    if (verb === 'verify') return verify(folders, head.value, terminal)
    for (const folder of folders) {
      for await (const line of exportAudit({ folder, format: format.value ?? 'json', ...times })) {
        terminal.out(line)
      }
    }
    return 0
  },
}

function logsOf(home: string): string[] {
  const found = ['auth', 'kms']
    .map((name) => resolve(join(home, 'audit', name)))
    .filter((folder) => existsSync(folder))
  if (found.length === 0)
    throw new StartupError(`there is no audit log in ${resolve(home)}/audit: name the home with --home`)
  return found
}

async function verify(
  paths: readonly string[],
  head: string | undefined,
  terminal: Terminal,
): Promise<number> {
  let code = 0
  const expected = expectedHead(head, paths)
  for (const path of paths) {
    if (!existsSync(path)) throw new StartupError(`${path} is not there`)
    const verdict = await verifyAudit(path, { thorough: true, ...expected })
    if (verdict.firstBroken === undefined) {
      const last = verdict.head === undefined ? '' : `, head ${verdict.head.seq}:${verdict.head.hash}`
      terminal.out(`ok      ${path}: ${verdict.records} records in ${verdict.files} files${last}`)
    } else {
      code = 1
      const { file, line, reason } = verdict.firstBroken
      terminal.out(`BROKEN  ${file}:${line}: ${reason}`)
    }
  }
  return code
}

function timeOption<Name extends string>(name: Name, value: string | undefined): { [K in Name]?: number } {
  if (value === undefined) return {}
  const time = Date.parse(value)
  if (Number.isNaN(time))
    throw new UsageError(`--${name} is a time like 2026-11-21T00:00:00Z, not '${value}'`)
  return { [name]: time } as { [K in Name]?: number }
}

function expectedHead(text: string | undefined, paths: readonly string[]) {
  if (text === undefined) return {}
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (match === null) throw new UsageError('--expect-head is SEQ:HASH as verify prints it')
  if (paths.length !== 1) throw new UsageError('--expect-head goes with the path of one log')
  return { expectHead: { seq: Number(match[1]), hash: match[2] ?? '' } }
}
