import { randomBytes } from 'node:crypto'
import { type Clock, Secret } from '@warder/base'
import {
  anyObject,
  type Blocks,
  endedPrefix,
  externalRight,
  findRightsForEither,
  type Roles,
  wasRevoked,
} from '@warder/keys'
import { createRowCache, type Database, type Seal } from '@warder/storage'
import type { KnownGrants } from '../scope/granted-key.ts'
import { accessKeyTopic, accessKeyVersion, readAccessKey } from './access-key-store.ts'

/** A credential of AWS KMS (XKS Proxy API, appendix A): its secret, region and path. */
export interface AccessKey {
  readonly id: string
  /** Path before `/kms/xks/v1`; empty, or beginning with a slash. */
  readonly uriPrefix: string
  /** The AWS region of the key store. */
  readonly region: string
  readonly secret: Secret
  /**
   * The user who created it: AWS KMS names keys by this user's aliases. undefined: it is the access key of the
   * settings.
   */
  readonly createdBy?: string
}

/** Access keys by id: those in the database, reloaded when they change, and the one in the settings. */
export interface AccessKeys {
  get(id: string): Promise<AccessKey | undefined>
}

interface AccessKeysOptions {
  readonly db: Database
  readonly seal: Seal
  readonly clock: Clock
  /** PostgreSQL only: see `createRowCache`. */
  readonly leaseMs: number
  /** The one of the settings. */
  readonly configured?: AccessKey | undefined
}

/** 20 to 30 of A to Z and 2 to 7 (XKS Proxy API, appendix A). */
const idForm = /^[A-Z2-7]{20,30}$/

export function createAccessKeys(options: AccessKeysOptions): AccessKeys {
  const { db, seal, clock, leaseMs, configured } = options
  const rows = createRowCache<AccessKey>({
    db,
    clock,
    leaseMs,
    topic: accessKeyTopic,
    version: accessKeyVersion,
    capacity: 100,
    async load(id) {
      const row = await readAccessKey(db, seal, id)
      if (row === undefined) return undefined
      const { uri_prefix: uriPrefix, region, version, clear, created_by: createdBy } = row
      return { version, value: { id, uriPrefix, region, secret: new Secret(clear), createdBy } }
    },
  })
  return {
    async get(id) {
      if (!idForm.test(id)) return undefined
      return (await rows.get(id)) ?? (configured?.id === id ? configured : undefined)
    },
  }
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A new id of 24 characters and a secret of 256 bits, each in the form that AWS KMS accepts. */
export function newAccessKey(): { readonly id: string; readonly secret: string } {
  const id = Array.from(randomBytes(24), (byte) => base32[byte & 31]).join('')
  return { id, secret: randomBytes(32).toString('base64') }
}

/** Why an access key is rejected: the state of the user who created it. */
type AccessKeyEnd = 'maker_blocked' | 'maker_gone' | 'maker_without_right'

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
