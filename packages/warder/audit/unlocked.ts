import { readdirSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import {
  type LogKeys,
  noLogKeys,
  openLogKeys,
  readCheckpointSigner,
  type UnlockedLog,
} from '@warder/foundation/audit'
import { StartupError } from '@warder/foundation/errors'
import { readSealed } from '@warder/foundation/runtime'
import type { Terminal } from '../cli/command.ts'
import { configure } from '../installation/configuration.ts'
import { type ServiceName, serviceNames } from '../installation/services.ts'

interface Where {
  readonly home: string
  readonly env: Terminal['env']
}

/**
 * Keys of the encrypted files of a log, by the root key and the database of its service; none for a log that has
 * none.
 * @param path a log folder, or a file of one
 * @throws StartupError naming what is missing
 */
export async function logKeysOf(path: string, where: Where): Promise<LogKeys> {
  const folder = statSync(path).isDirectory() ? path : dirname(path)
  if (!hasEncrypted(folder)) return noLogKeys
  const keys = await fromServices(folder, where, (seal) => openLogKeys(folder, seal))
  return new Map(keys.flatMap((some) => [...some]))
}

/** Keys for archiving a log: undefined = nothing in it is encrypted, nor to be. @throws StartupError */
export async function unlockedLog(folder: string, where: Where): Promise<UnlockedLog | undefined> {
  const service = serviceNames.find((name) => name === basename(folder))
  const wanted =
    service !== undefined && configure(service, where.home, [], where.env).launch.config.audit_encryption
  if (!wanted && !hasEncrypted(folder)) return undefined
  const [found] = await fromServices(folder, where, async (seal) => ({
    keys: await openLogKeys(folder, seal),
    signer: await readCheckpointSigner(folder, seal),
  }))
  if (found === undefined) return undefined
  const [first] = found.keys
  if (wanted && first === undefined)
    throw new StartupError(
      `audit_encryption is set, and ${folder} has no key yet that opens: start the service once before its log is archived`,
    )
  return {
    ...found,
    encryptWith: wanted && first !== undefined ? { id: first[0], key: first[1] } : undefined,
  }
}

/** Of the services that may have written a log: the one that its folder is named after, else each that opens. */
async function fromServices<Result>(
  folder: string,
  { home, env }: Where,
  work: Parameters<typeof readSealed<Result>>[2],
): Promise<readonly Result[]> {
  const found: Result[] = []
  let refusal: unknown
  for (const service of servicesOf(folder)) {
    try {
      found.push(await readSealed(service, configure(service, home, [], env).launch, work))
    } catch (error) {
      if (!(error instanceof StartupError)) throw error
      refusal ??= error
    }
  }
  if (found.length === 0 && refusal instanceof StartupError)
    throw new StartupError(
      `${folder} is encrypted: ${refusal.message}. Name the home of its service with --home`,
    )
  return found
}

function servicesOf(folder: string): readonly ServiceName[] {
  const named = serviceNames.filter((name) => name === basename(folder))
  return named.length > 0 ? named : serviceNames
}

function hasEncrypted(folder: string): boolean {
  return readdirSync(folder).some((name) => /^audit-\d{16}\..*\.enc(?:\.|$)/.test(name))
}
