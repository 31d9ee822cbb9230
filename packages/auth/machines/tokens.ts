import { randomBytes } from 'node:crypto'
import type { IncomingRequest } from '@warder/foundation/operations'
import { type Change, createUnchangedRows, type Database, type UnchangedRows } from '@warder/foundation/sql'
import type { Metrics } from '@warder/foundation/telemetry'
import { countTokens } from '../counting/index.ts'
import { secretHash } from './secret-hash.ts'
import {
  expiredTokenRemoval,
  findTokenByHash,
  type MachineToken,
  type RoleKind,
  tokenInsertion,
} from './token-store.ts'

/** Services needed to find a token. */
export interface TokenServices {
  readonly db: Database
  readonly metrics: Metrics
  /** Unix seconds. */
  now(): number
  readonly usedTokens: UsedTokens
}

const prefix = 'wt.'
/** `wt.` and 32 bytes; anything longer is not even hashed. */
const longest = 256
const rememberedTokens = 5000

/**
 * The token that a request carries. Vault-compatible clients send it under the second name; the form of a bearer token
 * (RFC 6750 §2.1) is ours alone, so a JWT in its place is none.
 */
export function presentedToken({ headers }: IncomingRequest): string | undefined {
  const bearer = /^bearer +(wt\.[\w-]+)$/i.exec(headers.authorization ?? '')?.[1]
  const value = headers['x-secret-token'] ?? headers['x-vault-token'] ?? bearer
  return value === undefined || value === '' || value.length > longest ? undefined : value
}

/**
 * The live token with this secret. Found by its hash, so the time of the search says nothing about the secret. One that
 * has expired goes at once: it must not come back when the clock is set back.
 */
export async function findToken(services: TokenServices, secret: string): Promise<MachineToken | undefined> {
  const { db, metrics } = services
  const now = services.now()
  const digest = secretHash(secret)
  const token = await services.usedTokens.get(digest.toString('latin1'), () => findTokenByHash(db, digest))
  if (token === undefined) return undefined
  if (token.expiresAt !== 0 && token.expiresAt <= now) {
    const [removed] = await db.commit([expiredTokenRemoval(token.hash, now)])
    countTokens(metrics, 'swept', removed?.changes ?? 0)
    return undefined
  }
  return token
}

/** Tokens whose rows need not be read again until something is committed, by their hash. */
export type UsedTokens = UnchangedRows<MachineToken>

export const createUsedTokens = (db: Database): UsedTokens => createUnchangedRows(db, rememberedTokens)

/** A new token for a role: the secret, shown once, and the change that keeps its hash. */
export function issueToken(
  role: {
    readonly kind: RoleKind
    readonly name: string
    readonly realm: string
    readonly policies: readonly string[]
    readonly tokenTtl: number
  },
  entity: string,
  now: number,
): { readonly secret: string; readonly insertion: Change } {
  const secret = prefix + randomBytes(32).toString('base64url')
  const insertion = tokenInsertion({
    hash: secretHash(secret),
    entity,
    realm: role.realm,
    policies: role.policies,
    renewable: true,
    leaseDuration: role.tokenTtl,
    expiresAt: role.tokenTtl === 0 ? 0 : now + role.tokenTtl,
    createdAt: now,
    roleKind: role.kind,
    roleName: role.name,
  })
  return { secret, insertion }
}
