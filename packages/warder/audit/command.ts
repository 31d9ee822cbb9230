import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { readTimestampAnchors } from '@warder/audit'
import { StartupError } from '@warder/base'
import { homeVerb, requireNoNames, type Terminal } from '@warder/command-line'
import { serviceNames } from '@warder/command-line/endpoints'
import { toFileRefused } from '@warder/command-line/files'
import { type KmsCommandParts, kmsCommand } from '@warder/command-line/kms'
import { readRememberedSeq } from '@warder/runtime/launch'
import { configure } from '../installation/configuration.ts'
import { count } from './count.ts'
import { find, forgetNode } from './find.ts'
import { findLogs } from './logs.ts'
import { archive, prune } from './old-files.ts'
import { exportRecords, tail } from './records.ts'
import { readLogKeys } from './unlock-log.ts'
import { verifyLogs } from './verify.ts'

/** A service writes a line in less time. */
const writeGraceMs = 200

const verify = homeVerb({
  name: 'verify',
  words: '[FILE|FOLDER]',
  summary: 'Verify the hash chain and print the first broken line',
  about: `Without a path it verifies the logs of both services of the home. Exit code 1: a line is broken or torn, or a log is
empty or missing. A log without its last lines still verifies: store the printed head elsewhere and pass it as
--expect-head. The signed checkpoints replace removed files: store checkpoint.pub elsewhere, too, and pass it as
--key. Encrypted files need the root key and the database of the home; without them, closed files are verified
by their checkpoints only.`,
  examples: ['warder audit verify'],
  options: {
    'expect-head': { type: 'text', value: 'SEQ:HASH', help: 'expected head of the log at the path' },
    key: {
      type: 'text',
      value: 'FILE',
      help: 'public key of the checkpoints (default: checkpoint.pub of the log)',
    },
    'timestamp-ca': {
      type: 'text',
      value: 'FILE',
      help: 'also verifies the time stamps of closed files with these authorities (PEM)',
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

export const auditParts: KmsCommandParts = {
  name: 'audit',
  summary: 'Search, count, verify, read, export, archive and prune the audit log',
  about: `find, count and forget-node ask the running service about the logs of all its nodes. The other verbs read the files of a home;
without a path: the logs of both of its services.`,
  verbs: [find, count, forgetNode],
  homeVerbs: [verify, exportRecords, tail, archive, prune],
  example: [find, count, forgetNode, verify, exportRecords, tail, archive, prune]
    .flatMap(({ examples }) => examples.map((line) => `  ${line}`))
    .join('\n'),
}

export const audit = kmsCommand(auditParts)

/** Reads the public key that verifies the checkpoints of a log. @throws StartupError when the file contains none */
function readCheckpointKey(path: string): KeyObject {
  try {
    return createPublicKey(readFileSync(path))
  } catch (error) {
    throw new StartupError(
      `${path} contains no public key (PEM): ${error instanceof Error ? error.message : error}`,
    )
  }
}

/** Reads the number of records that the database of a service has recorded for its log; undefined = not known. */
async function readRecordedSeq(
  folder: string,
  { home, env }: { readonly home: string; readonly env: Terminal['env'] },
): Promise<number | undefined> {
  const service = serviceNames.find((name) => name === basename(folder))
  if (service === undefined) return undefined
  return readRememberedSeq(service, configure(service, resolve(home), [], env).launch)
}
