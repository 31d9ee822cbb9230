import { readdirSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  computeCheckpointKeyId,
  type LogKeys,
  noLogKeys,
  openLogKeys,
  readCheckpointSigner,
  readPublicCheckpointKey,
  type UnlockedLog,
} from '@warder/audit'
import { StartupError } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import { type ServiceName, serviceNames } from '@warder/command-line/endpoints'
import { readSealed } from '@warder/runtime/launch'
import { configure } from '../installation/configuration.ts'

interface LogLocation {
  readonly home: string
  readonly env: Terminal['env']
}

/**
 * Reads the keys of the encrypted files of a log, with the root key and the database of its service.
 * @param path a log folder, or a file in it
 * @returns no keys for a log without encrypted files
 * @throws StartupError that names the missing key
 */
export async function readLogKeys(path: string, where: LogLocation): Promise<LogKeys> {
  const folder = statSync(path).isDirectory() ? path : dirname(path)
  if (!hasEncrypted(folder)) return noLogKeys
  const keys = await readFromServices(folder, where, 'is encrypted', (seal) => openLogKeys(folder, seal))
  return new Map(keys.flatMap((some) => [...some]))
}

/**
 * Reads the keys to archive or prune a log; undefined = neither encryption nor signatures are needed.
 * @param signs files are removed, so the key of the log must sign
 * @throws StartupError
 */
export async function unlockLog(
  folder: string,
  where: LogLocation,
  { signs }: { readonly signs: boolean },
): Promise<UnlockedLog | undefined> {
  const service = serviceNames.find((name) => name === basename(folder))
  const wanted =
    service !== undefined && configure(service, where.home, [], where.env).launch.config.audit_encryption
  if (!wanted && !hasEncrypted(folder) && !signs) return undefined
  const why = signs ? 'needs its signing key to remove files' : 'is encrypted'
  const all = await readFromServices(folder, where, why, async (seal, name) => ({
    keys: await openLogKeys(folder, seal),
    signer:
      (await readCheckpointSigner(folder, seal)) ??
      // An archive contains only the public half.
      (await readCheckpointSigner(join(where.home, 'audit', name), seal)),
  }))
  const known = readPublicCheckpointKey(folder)
  const fits = all.find(
    ({ signer }) => known !== undefined && signer?.keyId === computeCheckpointKeyId(known),
  )
  const found = fits ?? all[0]
  if (found === undefined) return undefined
  const [first] = found.keys
  if (wanted && first === undefined)
    throw new StartupError(
      `audit_encryption is set, but ${folder} has no usable key yet: start the service once before you archive its log`,
    )
  return {
    ...found,
    encryptWith: wanted && first !== undefined ? { id: first[0], key: first[1] } : undefined,
  }
}

/**
 * Reads from each service that may have written a log: the service in the name of its folder, otherwise both.
 */
async function readFromServices<Result>(
  folder: string,
  { home, env }: LogLocation,
  why: string,
  work: (
    seal: Parameters<Parameters<typeof readSealed<Result>>[2]>[0],
    service: ServiceName,
  ) => Promise<Result>,
): Promise<readonly Result[]> {
  const found: Result[] = []
  let refusal: unknown
  for (const service of listCandidates(folder)) {
    try {
      const { launch } = configure(service, home, [], env)
      found.push(await readSealed(service, launch, (seal) => work(seal, service)))
    } catch (error) {
      if (!(error instanceof StartupError)) throw error
      refusal ??= error
    }
  }
  if (found.length === 0 && refusal instanceof StartupError)
    throw new StartupError(`${folder} ${why}: ${refusal.message}. Give the home of its service with --home`)
  return found
}

function listCandidates(folder: string): readonly ServiceName[] {
  const named = serviceNames.filter((name) => name === basename(folder))
  return named.length > 0 ? named : serviceNames
}

function hasEncrypted(folder: string): boolean {
  return readdirSync(folder).some((name) => /^audit-\d{16}\..*\.enc(?:\.|$)/.test(name))
}
