import {
  anyObject,
  type Blocks,
  endedPrefix,
  externalRight,
  findRightsForEither,
  type Roles,
  wasRevoked,
} from '@warder/keys'
import type { Database } from '@warder/storage'
import type { KnownGrants } from '../granted-key.ts'

/** Why an access key is rejected: the state of the user who created it. */
export type AccessKeyEnd = 'maker_blocked' | 'maker_gone' | 'maker_without_right'

interface Services {
  readonly db: Database
  readonly roles: Pick<Roles, 'officers'>
  readonly defaultUsername: string
  readonly blocks: Blocks
  readonly external: { readonly grants: KnownGrants }
}

/**
 * Why an access key is rejected: its creator is blocked, deleted, or may no longer manage external key stores.
 * An officer whose activation expired still counts as an officer, as for votes, because AWS KMS signs at any time.
 */
export async function endOfAccessKey(
  services: Services,
  maker: string,
  now: number,
): Promise<AccessKeyEnd | undefined> {
  if (maker.startsWith(endedPrefix)) return 'maker_gone'
  if (await services.blocks.isBlocked(maker)) return 'maker_blocked'
  return (await isManager(services, maker, now)) ? undefined : 'maker_without_right'
}

async function isManager(
  { db, roles, defaultUsername, external }: Services,
  maker: string,
  now: number,
): Promise<boolean> {
  const { listed, requireCeremony } = roles.officers
  if (maker === defaultUsername) return true
  if (listed.size === 0) return false
  if (listed.has(maker)) return !requireCeremony || !(await wasRevoked(db, maker, now))
  const rights = await external.grants.get(`${anyObject}\n${maker}`, () =>
    findRightsForEither(db, anyObject, maker, maker),
  )
  return rights?.has(externalRight) === true
}
