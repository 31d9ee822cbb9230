import { userInfo } from 'node:os'
import { archiveOld, type Done, pruneOld } from '@warder/audit'
import { StartupError } from '@warder/base'
import { type HomeContext, homeVerb, parseTime, requireNoNames, UsageError } from '@warder/command-line'
import { toFileRefused } from '@warder/command-line/files'
import { findLogs } from './logs.ts'
import { unlockLog } from './unlock-log.ts'

const before = {
  type: 'text',
  value: 'TIME',
  required: true,
  help: 'only files with older records: 2026-01-01, 2026-01-01T00:00:00Z, or an age: 90d (also h, w)',
} as const

export const archive = homeVerb({
  name: 'archive',
  words: '[FOLDER]',
  summary: 'Compress old files of the log (zstd); --to moves them to another folder',
  about: `Archives only files that the service has closed and signed. Each copy is read back and compared with its checkpoint
before the original is removed. verify and export find archives beside the log; for another folder, pass its path.
--to signs the move with the key of the log, which needs the root key and the database of the home. The service may
run meanwhile; an interrupted run can be repeated.`,
  examples: [
    'warder audit archive --before 90d',
    'warder audit archive --before 2026-01-01 --to /mnt/archive',
  ],
  options: {
    before,
    to: { type: 'text', value: 'FOLDER', help: 'target folder; it gets a subfolder for each service' },
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
  summary: 'Delete old files of the log for good; their checkpoints stay, so the chain still verifies',
  about: `Removes only files that the service has closed and signed, archived or not. Each removal is signed with the key of the
log, which needs the root key and the database of the home; a file that is already gone gets that signature, too. At its
next file or start the service records in the log which files were removed and by whom. The service may run meanwhile.`,
  examples: ['warder audit prune --before 2016-01-01 --yes'],
  options: {
    before,
    yes: { type: 'flag', help: 'removes the files; without it they are only listed' },
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
      if (!yes) terminal.err('nothing was removed: use --yes to remove these files')
      return code
    }
  },
})

interface Common {
  readonly before: number
  readonly by: string
  readonly now: number
}

/** @param work processes one log; @returns the number of its files */
async function forEachLog(
  path: string | undefined,
  context: HomeContext,
  limit: number,
  work: (folder: string, common: Common) => Promise<number>,
): Promise<number> {
  const now = Date.now()
  if (limit > now) throw new UsageError('--before must be a time in the past')
  try {
    let count = 0
    for (const folder of findLogs(path, context).paths) {
      if (folder.includes('.jsonl')) throw new StartupError(`${folder} is a file: give the folder of a log`)
      count += await work(folder, { before: limit, by: userInfo().username, now })
    }
    if (count === 0) context.terminal.out('no closed file is older than that')
    return 0
  } catch (error) {
    throw toFileRefused(error)
  }
}

function formatFile(what: string, { file, records, path }: Done): string {
  return `${what} ${file}: ${records} records (${path})`
}
