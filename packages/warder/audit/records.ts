import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type ExportFormat, exportAudit, type RecordFilter, tailAudit } from '@warder/audit'
import { StartupError } from '@warder/base'
import { type HomeContext, homeVerb, parseTime, requireNoNames, UsageError } from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { openSealedDatabase, toDatabaseLocation } from '@warder/runtime/launch'
import { configure } from '../installation/configuration.ts'
import { findLogs } from './logs.ts'
import { readLogKeys } from './unlock-log.ts'

const maxShown = 10
/** Marks an alias without an owner; no user can have this name. */
const anyOwner = '.'

/**
 * Resolves an alias to a key id, because records contain key ids. Any other text is an id already.
 * @throws StartupError for an alias that no key has, or that several owners have
 */
async function resolveKeyId(text: string, { home, terminal }: HomeContext): Promise<string> {
  const { aliasesNamed, fullForm, parseAlias } = await import('@warder/keys')
  const asked = parseAlias(text, anyOwner)
  if (asked === undefined) return text
  const folder = resolve(home)
  const { launch } = configure('kms', folder, [], terminal.env)
  const place = toDatabaseLocation(launch.config, folder, 'kms')
  // Opening a missing database would create it.
  if (place.kind === 'sqlite' && !existsSync(place.path))
    throw new StartupError(
      `${text} cannot be resolved: the database ${place.path} does not exist; use the id of the key`,
    )
  const { db, close } = await openSealedDatabase('kms', launch)
  try {
    const all = await aliasesNamed(db, asked.name, maxShown)
    const found = asked.owner === anyOwner ? all : all.filter(({ owner }) => owner === asked.owner)
    const [only, other] = found
    if (only === undefined) throw new StartupError(`no key has the alias ${text}: use the id of the key`)
    if (other !== undefined)
      throw new StartupError(
        `several owners have an alias ${text}: use one of ${found.map(fullForm).join(', ')}`,
      )
    return only.keyId
  } finally {
    await close()
  }
}

export const times = {
  since: { type: 'text', value: 'TIME', help: 'only records from this time on' },
  until: { type: 'text', value: 'TIME', help: 'only records before this time' },
} as const

/** Options that filter records. */
export const filters = {
  principal: { type: 'text', value: 'NAME', help: 'the user or machine that made the request' },
  key: { type: 'text', value: 'ID', help: 'id of the key (or an alias), certificate or other object' },
  operation: { type: 'text', value: 'NAME', help: "name of the operation: crypto.encrypt, or 'kmip.*'" },
  outcome: { type: 'text', value: 'success|failure', help: 'result of the operation' },
} as const

const format = { type: 'text', value: 'json|cef', help: 'output format (default json)' } as const

const defaultLines = 20

export const exportRecords = homeVerb({
  name: 'export',
  words: '[FOLDER]',
  usage: '[--format json|cef] [--since TIME] [--until TIME] [FILTER]...',
  summary: 'Print the records, one per line, as JSON or as CEF for a SIEM',
  about: 'Includes archived records. TIME is RFC 3339 (2026-11-21T00:00:00Z), or an age: 12h',
  examples: [
    'warder audit export --format cef --since 2026-11-01T00:00:00Z > audit.cef',
    'warder audit export --principal alice --outcome failure',
  ],
  options: {
    format,
    ...times,
    ...filters,
  },
  parse({ since, until, ...more }, [path, ...rest]) {
    requireNoNames(rest)
    const filter = {
      ...readFilter(more),
      ...(since !== undefined && { since: parseTime('since', since) }),
      ...(until !== undefined && { until: parseTime('until', until) }),
    }
    const resolveObject = createObjectResolver(more.key)
    return async (context) => {
      const { terminal } = context
      try {
        const object = await resolveObject(context)
        for (const folder of findLogs(path, context).paths) {
          const keys = await readLogKeys(folder, { home: context.home, env: terminal.env })
          for await (const line of exportAudit({ folder, keys, ...filter, ...object })) {
            if (terminal.isGone?.() === true) return 0
            terminal.out(line)
          }
        }
        return 0
      } catch (error) {
        throw toFileRefused(error)
      }
    }
  },
})

export const tail = homeVerb({
  name: 'tail',
  words: '[FOLDER]',
  usage: '[--lines N] [--follow] [--format json|cef] [FILTER]...',
  summary: 'Print the last records; --follow prints new ones as they are written',
  about: 'Each service writes its records in order; the records of both services are interleaved.',
  examples: ['warder audit tail --follow', 'warder audit tail --lines 100 --outcome failure'],
  options: {
    lines: { type: 'number', value: 'N', help: `number of records of each log (default ${defaultLines})` },
    follow: { type: 'flag', short: 'f', help: 'prints new records until it is interrupted; same as -f' },
    format,
    ...filters,
  },
  parse({ lines = defaultLines, follow, ...more }, [path, ...rest]) {
    requireNoNames(rest)
    const filter = readFilter(more)
    const resolveObject = createObjectResolver(more.key)
    return async (context) => {
      const { terminal } = context
      const stop = new AbortController()
      let object = {}
      const print = async (folder: string): Promise<void> => {
        const keys = await readLogKeys(folder, { home: context.home, env: terminal.env })
        const records = tailAudit(
          { folder, keys, lines, ...filter, ...object },
          follow ? stop.signal : undefined,
        )
        for await (const line of records) {
          if (terminal.isGone?.() === true) stop.abort()
          if (stop.signal.aborted) return
          terminal.out(line)
        }
      }
      try {
        const folders = findLogs(path, context).paths
        const file = folders.find((folder) => folder.includes('.jsonl'))
        if (file !== undefined) throw new StartupError(`${file} is a file: tail reads the folder of a log`)
        object = await resolveObject(context)
        await Promise.all(folders.map(print))
        return 0
      } catch (error) {
        throw toFileRefused(error)
      } finally {
        stop.abort()
      }
    }
  },
})

interface FilterValues {
  readonly format: string | undefined
  readonly principal: string | undefined
  readonly key: string | undefined
  readonly operation: string | undefined
  readonly outcome: string | undefined
}

/** Resolves the filter by object; an alias is resolved when the home is known. */
function createObjectResolver(key: string | undefined) {
  return async (context: HomeContext): Promise<{ readonly object?: string }> =>
    key === undefined ? {} : { object: await resolveKeyId(key, context) }
}

/** @throws UsageError */
function readFilter(given: FilterValues): RecordFilter & { readonly format: ExportFormat } {
  const { format: written = 'json', principal, operation, outcome } = given
  if (written !== 'json' && written !== 'cef')
    throw new UsageError(`--format must be json or cef, not '${written}'`)
  return {
    format: written,
    ...(principal !== undefined && { principal }),
    ...(operation !== undefined && { operation }),
    ...(outcome !== undefined && { outcome: readOutcome(outcome) }),
  }
}

/** @throws UsageError */
export function readOutcome(outcome: string): 'success' | 'failure' {
  if (outcome !== 'success' && outcome !== 'failure')
    throw new UsageError(`--outcome must be success or failure, not '${outcome}'`)
  return outcome
}
