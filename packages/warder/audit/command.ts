import { setTimeout } from 'node:timers/promises'
import { readTimestampAnchors } from '@warder/foundation/audit'
import { requireNoNames } from '../cli/options.ts'
import { toFileRefused } from '../cli/refused.ts'
import { homeVerb, verbCommand } from '../cli/verb-command.ts'
import { readCheckpointKey } from './checkpoint-key.ts'
import { findLogs } from './logs.ts'
import { archive, prune } from './old-files.ts'
import { readRecordedSeq } from './recorded-seq.ts'
import { exportRecords, tail } from './records.ts'
import { readLogKeys } from './unlock-log.ts'
import { verifyLogs } from './verify.ts'

/** Longer than a service takes to write a line. */
const writeGraceMs = 200

const verify = homeVerb({
  name: 'verify',
  words: '[FILE|FOLDER]',
  summary: 'recomputes the chain of hashes and prints the first line that is broken',
  about: `Exit code 1 when there is one, when the last line is torn, and when a log holds no record or is gone. Without a
path: both services' logs of the home. A log that lost whole lines at its end still verifies; keep the head that is
printed somewhere else and give it back as --expect-head. Files that were removed are held by their signed checkpoints;
keep checkpoint.pub of the log somewhere else, too, and give it back as --key. Encrypted files are opened by the root
key and the database of the home; without them closed ones are verified as they are stored, by their checkpoints.`,
  examples: ['warder audit verify'],
  options: {
    'expect-head': { type: 'text', value: 'SEQ:HASH', help: 'the head that the one log has to have' },
    key: {
      type: 'text',
      value: 'FILE',
      help: 'the key that signs checkpoints (default: checkpoint.pub of the log)',
    },
    'timestamp-ca': {
      type: 'text',
      value: 'FILE',
      help: 'checks time stamps of closed files, too, by these authorities (PEM)',
    },
  },
  parse({ 'expect-head': head, key, 'timestamp-ca': ca }, [path, ...rest]) {
    requireNoNames(rest)
    return async (context) => {
      try {
        const trusted = key === undefined ? undefined : readCheckpointKey(key)
        const anchors = ca === undefined ? undefined : readTimestampAnchors(ca)
        const logs = findLogs(path, context)
        const where = { home: context.home, env: context.terminal.env }
        const readRecordCount = path === undefined ? (log: string) => readRecordedSeq(log, where) : undefined
        const readKeys = (log: string) => readLogKeys(log, where)
        return await verifyLogs(
          logs,
          { head, trusted, anchors, readKeys, readRecordCount },
          context.terminal,
          () => setTimeout(writeGraceMs),
        )
      } catch (error) {
        throw toFileRefused(error)
      }
    }
  },
})

export const audit = verbCommand({
  name: 'audit',
  summary: 'verifies the chained audit log, reads, exports, archives and prunes it',
  about: 'Without a path: the logs of both services of the home.',
  verbs: [verify, exportRecords, tail, archive, prune],
})
