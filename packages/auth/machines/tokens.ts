import { randomBytes } from 'node:crypto'
import type { IncomingRequest } from '@warder/foundation/operations'
import {
  type Change,
  createUnchangedRows,
  type Database,
  GuardFailed,
  type UnchangedRows,
} from '@warder/foundation/sql'
import type { Metrics } from '@warder/foundation/telemetry'
import { countTokens } from '../counting/index.ts'
import { endOfLease, isWithin, type TokenLimits } from './limits.ts'
import { secretHash } from './secret-hash.ts'
import {
  findTokenByHash,
  type MachineToken,
  type RoleKind,
  tokenInsertion,
  tokenRemovalIfExpired,
  tokenUse,
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
const maxTokenLength = 256
const rememberedTokens = 5000

/**
 * The token that a request carries. Vault-compatible clients send it under the second name; the form of a bearer token
 * (RFC 6750 §2.1) is ours alone, so a JWT in its place is none.
 */
function readTokenHeader({ headers }: IncomingRequest): string | undefined {
  const bearer = /^bearer +(wt\.[\w-]+)$/i.exec(headers.authorization ?? '')?.[1]
  const value = headers['x-secret-token'] ?? headers['x-vault-token'] ?? bearer
  return value === undefined || value === '' || value.length > maxTokenLength ? undefined : value
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
    const [removed] = await db.commit([tokenRemovalIfExpired(token.hash, now)])
    countTokens(metrics, 'swept', removed?.changes ?? 0)
    return undefined
  }
  return token
}

/** A token that a request has used: a request that is authenticated twice, for its head and its body, is one use. */
export interface UsedToken {
  readonly secret: string
  readonly token: MachineToken
}
const usedBy = new WeakMap<IncomingRequest, UsedToken>()

/**
 * The live token of a request, which counts as a use of it. undefined: there is none, none is left of its uses, or the
 * client is not within its addresses.
 */
export async function useToken(
  services: TokenServices,
  request: IncomingRequest,
): Promise<UsedToken | undefined> {
  const before = usedBy.get(request)
  if (before !== undefined) return before
  const secret = readTokenHeader(request)
  const found = secret === undefined ? undefined : await findToken(services, secret)
  if (secret === undefined || found === undefined) return undefined
  if (!isWithin(found.boundCidrs, request)) return undefined
  let token = found
  if (found.usesLeft !== -1) {
    try {
      await services.db.commit(tokenUse(found.hash))
    } catch (error) {
      if (!(error instanceof GuardFailed)) throw error
      return undefined
    }
    // As it was read: other requests may have taken more of them at the same time.
    token = { ...found, usesLeft: found.usesLeft - 1 }
  }
  const used = { secret, token }
  usedBy.set(request, used)
  return used
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
    readonly limits: TokenLimits
  },
  entity: string,
  now: number,
): { readonly secret: string; readonly insertion: Change; readonly leaseDuration: number } {
  const { boundCidrs, numUses, maxTtl, explicitMaxTtl } = role.limits
  const explicitEnd = explicitMaxTtl === 0 ? 0 : now + explicitMaxTtl
  const expiresAt = endOfLease(now, role.tokenTtl, [maxTtl === 0 ? 0 : now + maxTtl, explicitEnd])
  const leaseDuration = expiresAt === 0 ? 0 : expiresAt - now
  const secret = prefix + randomBytes(32).toString('base64url')
  const insertion = tokenInsertion({
    hash: secretHash(secret),
    entity,
    realm: role.realm,
    policies: role.policies,
    renewable: true,
    leaseDuration,
    expiresAt,
    createdAt: now,
    boundCidrs,
    usesLeft: numUses === 0 ? -1 : numUses,
    explicitEnd,
    roleKind: role.kind,
    roleName: role.name,
  })
  return { secret, insertion, leaseDuration }
}
