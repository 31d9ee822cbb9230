import { randomBytes } from 'node:crypto'
import type { Clock, Metrics } from '@warder/base'
import { type ErrorShape, errorBody, type IncomingRequest, type Operation } from '@warder/server'
import {
  type Change,
  createUnchangedRows,
  type Database,
  GuardFailed,
  type UnchangedRows,
} from '@warder/storage'
import Type from 'typebox'
import { countTokens } from '../counting.ts'
import type { LoginLimitServices } from '../login/method.ts'
import type { IdentityProviders } from '../methods/jwt/identity-providers.ts'
import { endOfLease, isWithin, type TokenLimits } from './limits.ts'
import {
  findTokenByHash,
  type MachineToken,
  type RoleKind,
  secretHash,
  tokenInsertion,
  tokenRemovalIfExpired,
  tokenUse,
} from './token-store.ts'

/** Services needed to find a token. */
interface TokenServices {
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
 * Reads the token of a request. Vault-compatible clients send it in the second header. As a bearer token (RFC 6750
 * §2.1) only tokens in the form of this service count, so a JWT is not mistaken for one.
 */
function readTokenHeader({ headers }: IncomingRequest): string | undefined {
  const bearer = /^bearer +(wt\.[\w-]+)$/i.exec(headers.authorization ?? '')?.[1]
  const value = headers['x-secret-token'] ?? headers['x-vault-token'] ?? bearer
  return value === undefined || value === '' || value.length > maxTokenLength ? undefined : value
}

/**
 * Finds the live token with this secret. It is found by its hash, so the search time discloses nothing about the
 * secret. An expired token is deleted at once: it must not become valid again when the clock is set back.
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

/**
 * Tokens that a request has used: a request that is authenticated twice, for its head and its body, counts as one
 * use.
 */
export interface UsedToken {
  readonly secret: string
  readonly token: MachineToken
}
const usedBy = new WeakMap<IncomingRequest, UsedToken>()

/**
 * Returns the live token of a request and counts a use; undefined when there is none, no use is left, or the client
 * address is not allowed.
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
    // The value as it was read: concurrent requests may have consumed further uses.
    token = { ...found, usesLeft: found.usesLeft - 1 }
  }
  const used = { secret, token }
  usedBy.set(request, used)
  return used
}

/** Capacity of the cache of token rows, by hash. Each commit invalidates it. */
type UsedTokens = UnchangedRows<MachineToken>

export const createUsedTokens = (db: Database): UsedTokens => createUnchangedRows(db, rememberedTokens)

/** Creates a token for a role. @returns the secret, returned to the client once, and the change that stores its hash */
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

/** Services used by operations on machine identities. */
export interface MachineServices extends TokenServices, LoginLimitServices {
  readonly clock: Clock
  /** Caches the key sets of orchestrators. */
  readonly providers: Pick<IdentityProviders, 'keySet'>
}

/** Vault-compatible clients read `errors`, a list of sentences, beside the usual members. */
export const vaultErrors: ErrorShape = {
  addsToDefault: true,
  reply: (failure, { id }) => ({ json: { ...errorBody(failure, id), errors: [failure.message] } }),
}

const Text = Type.String()

export const MachineAuthReply = Type.Object({
  auth: Type.Object({
    client_token: Text,
    renewable: Type.Boolean(),
    lease_duration: Type.Integer(),
    policies: Type.Array(Text),
    metadata: Type.Record(Text, Text),
  }),
})

/** @param leaseDuration seconds */
export function machineAuth(
  clientToken: string,
  renewable: boolean,
  leaseDuration: number,
  policies: readonly string[],
  metadata: Readonly<Record<string, string>>,
) {
  return {
    auth: {
      client_token: clientToken,
      renewable,
      lease_duration: leaseDuration,
      policies: [...policies],
      metadata: { ...metadata },
    },
  }
}

/**
 * Adds the paths that Vault-compatible clients use: with the prefix `/v1`, and with `kubernetes` for `orchestrator`.
 * Each alias has its own name, so that the audit log records which path was used.
 */
export function withAliases(
  operations: readonly Operation<MachineServices>[],
): readonly Operation<MachineServices>[] {
  const kubernetes = operations
    .filter(({ route }) => route.path.startsWith('/auth/orchestrator/'))
    .map((operation) => ({
      ...operation,
      name: operation.name.replace('orchestrator', 'kubernetes'),
      route: {
        ...operation.route,
        path: operation.route.path.replace('/auth/orchestrator/', '/auth/kubernetes/'),
      },
    }))
  const plain = [...operations, ...kubernetes]
  const prefixed = plain.map((operation) => ({
    ...operation,
    name: `v1.${operation.name}`,
    route: { ...operation.route, path: `/v1${operation.route.path}` },
  }))
  return [...plain, ...prefixed]
}
