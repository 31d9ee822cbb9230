import { userInfo } from 'node:os'
import { archiveOld, type Done, pruneOld } from '@warder/foundation/audit'
import { StartupError } from '@warder/foundation/errors'
import { UsageError } from '../cli/command.ts'
import { requireNoNames } from '../cli/options.ts'
import { toFileRefused } from '../cli/refused.ts'
import { type HomeContext, homeVerb } from '../cli/verb-command.ts'
import { findLogs } from './logs.ts'
import { parseTime } from './times.ts'
import { unlockLog } from './unlock-log.ts'

const before = {
  type: 'text',
  value: 'TIME',
  required: true,
  help: 'files whose records are all older: 2026-01-01, 2026-01-01T00:00:00Z or 90d (days ago; also h, w)',
} as const

export const archive = homeVerb({
  name: 'archive',
  words: '[FOLDER]',
  summary: 'compresses old files of the log (zstd), and moves them elsewhere with --to',
  about: `Only files that the service has closed and signed. Each is read back and compared with its checkpoint before the
original goes. Beside the log, verify and export still find the records; elsewhere, give them that folder. What --to
moves away is signed with the key of the log, which takes the root key and the database of the home. It may run while
the service does, and again after it was interrupted.`,
  examples: [
    'warder audit archive --before 90d',
    'warder audit archive --before 2026-01-01 --to /mnt/archive',
  ],
  options: {
    before,
    to: { type: 'text', value: 'FOLDER', help: 'where to; a folder for each service is made in it' },
  },
  parse({ before: time, to }, [path, ...rest]) {
    requireNoNames(rest)
    const limit = parseTime('before', time)
    return async (context) => {
      const { terminal } = context
      return forEachLog(path, context, limit, async (folder, common) => {
        const target = to === undefined ? undefined : `${to}/${folder.slice(folder.lastIndexOf('/') + 1)}`
        let count = 0
        const where = { home: context.home, env: terminal.env }
        const unlocked = await unlockLog(folder, where, { signs: to !== undefined })
        for await (const done of archiveOld({ folder, to: target, unlocked, ...common })) {
          terminal.out(formatFile('archived', done))
          count += 1
        }
        return count
      })
    }
  },
})

export const prune = homeVerb({
  name: 'prune',
  words: '[FOLDER]',
  summary: 'removes old files of the log for good; their checkpoints stay, and the chain holds',
  about: `Only files that the service has closed and signed, archived or not. Each removal is signed with the key of the
log, which takes the root key and the database of the home; a file that is gone already gets that signature, too. The
service records in the log which files were removed and by whom, at its next file or start. It may run while the service
does.`,
  examples: ['warder audit prune --before 2016-01-01 --yes'],
  options: {
    before,
    yes: { type: 'flag', help: 'remove them; without it they are only listed' },
  },
  parse({ before: time, yes }, [path, ...rest]) {
    requireNoNames(rest)
    const limit = parseTime('before', time)
    return async (context) => {
      const { terminal } = context
      const code = await forEachLog(path, context, limit, async (folder, common) => {
        let count = 0
        const where = { home: context.home, env: terminal.env }
        const signer = yes ? (await unlockLog(folder, where, { signs: true }))?.signer : undefined
        for (const done of pruneOld({ folder, dryRun: !yes, signer, ...common })) {
          terminal.out(formatFile(yes ? 'removed' : 'would remove', done))
          count += 1
        }
        return count
      })
      if (!yes) terminal.err('nothing was removed: say --yes')
      return code
    }
  },
})

interface Common {
  readonly before: number
  readonly by: string
  readonly now: number
}

/** @param work gives how many files it found */
async function forEachLog(
  path: string | undefined,
  context: HomeContext,
  limit: number,
  work: (folder: string, common: Common) => Promise<number>,
): Promise<number> {
  const now = Date.now()
  if (limit > now) throw new UsageError('--before is a time in the past')
  try {
    let count = 0
    for (const folder of findLogs(path, context).paths) {
      if (folder.includes('.jsonl')) throw new StartupError(`${folder} is a file: name the folder of a log`)
      count += await work(folder, { before: limit, by: userInfo().username, now })
    }
    if (count === 0) context.terminal.out('no closed file is as old as that')
    return 0
  } catch (error) {
    throw toFileRefused(error)
  }
}

function formatFile(what: string, { file, records, path }: Done): string {
  return `${what} ${file}: ${records} records (${path})`
}
