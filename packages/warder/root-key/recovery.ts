import { userInfo } from 'node:os'
import { StartupError, systemClock } from '@warder/base'
import type { Terminal } from '@warder/command-line'
import type { RootKeySourceName } from '@warder/root-key-providers/settings'
import {
  type Change,
  createRecovery,
  createRootKeyRecord,
  describeSet,
  findRecoverableKey,
  openSeal,
  type RootKey,
  type ShareSet,
  sharesSource,
} from '@warder/storage'
import { askShares, listOpeners } from '../unseal/ask-shares.ts'
import {
  findPresentSource,
  move,
  type PresentKeys,
  readPresentKeys,
  requireApproval,
  requireShares,
  type ServiceDatabase,
} from './change.ts'
import { type RequestedShares, writeShares } from './new-shares.ts'

/**
 * Creates a set of shares that opens both databases if the source of the root key is lost. It replaces the former set.
 * If it is interrupted between the databases, the command must be run again.
 */
export async function createRecoverySet(
  databases: readonly ServiceDatabase[],
  shares: RequestedShares | undefined,
  { out }: Terminal,
): Promise<number> {
  const request = requireShares(shares)
  for (const database of databases)
    if ((await findPresentSource(database)) === sharesSource)
      throw new StartupError(
        'the root key is in shares already: a recovery set is for other sources. warder root-key rotate makes new shares',
      )
  const approved = await requireApproval(databases, readPresentKeys)
  const set = await writeShares(request, out)
  for (const database of databases) {
    const { db, service } = database
    const rootKeys = await readPresentKeys(database)
    const details = describeUse(
      set,
      set.holders.map(({ name }) => name),
    )
    const record = await stageRecord(database, rootKeys, 'root_key.recovery_created', details)
    await createRecovery(set, { db, service, rootKeys }, record)
    out(`  ${service} recoverable`)
  }
  await approved()
  out(
    `${set.threshold} of ${set.holders.length} shares of set ${describeSet(set)} open both databases, also after rotations and moves: give each holder the file with`,
  )
  out('their name. Former recovery sets do not open them any more. Make a new backup.')
  return 0
}

/** Moves the root key to a source that works, with the shares of the recovery set. */
export async function recover(
  databases: readonly ServiceDatabase[],
  kind: RootKeySourceName,
  shares: RequestedShares | undefined,
  terminal: Terminal,
): Promise<number> {
  const open = (database: ServiceDatabase): Promise<RootKey> =>
    askShares(() => findRecoverableKey(database.db, database.service), database.service)
  const keys: PresentKeys = {
    isLost: true,
    read: async (database) => [await open(database)],
    async stage(database) {
      const { set } = await findRecoverableKey(database.db, database.service)
      const details = { ...describeUse(set, listOpeners(set)), to: kind }
      return stageRecord(database, [await open(database)], 'root_key.recovered', details)
    },
  }
  return move(databases, kind, terminal, { shares, keys })
}

function describeUse(set: ShareSet, holders: readonly string[]) {
  return { set: describeSet(set), holders, by: userInfo().username }
}

async function stageRecord(
  { db, service }: ServiceDatabase,
  rootKeys: readonly RootKey[],
  operation: string,
  details: Readonly<Record<string, unknown>>,
): Promise<readonly Change[]> {
  const seal = await openSeal({ db, service, rootKeys, clock: systemClock })
  return [createRootKeyRecord(seal, { operation, at: systemClock.now(), details })]
}
