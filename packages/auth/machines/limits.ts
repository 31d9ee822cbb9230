import { failure } from '@warder/base'
import { addressSet, type IncomingRequest, type OperationContext, parseCidr } from '@warder/server'
import Type, { type Static } from 'typebox'

/** Ten years, in practice unlimited. */
const maxSeconds = 10 * 366 * 86_400

/** A duration as Vault clients send it: whole seconds, or text. The meaning of 0 depends on the member. */
export const Duration = Type.Union([
  Type.Integer({ minimum: 0, maximum: maxSeconds }),
  Type.String({ maxLength: 32, description: 'Such as 3600, 30s, 90m, 1h30m or 2d.' }),
])

const parts = /^(?:\d{1,10}[dhms])+$/
const unitSeconds: Readonly<Record<string, number>> = { d: 86_400, h: 3600, m: 60, s: 1 }

/** Whole seconds. @throws failure('bad_request') that names the member */
export function readDuration(member: string, value: Static<typeof Duration>): number {
  if (typeof value === 'number') return value
  let seconds = Number.NaN
  if (/^\d{1,10}$/.test(value)) seconds = Number(value)
  else if (parts.test(value)) {
    seconds = 0
    for (const [, amount, unit] of value.matchAll(/(\d+)([dhms])/g))
      seconds += Number(amount) * (unitSeconds[unit ?? ''] ?? Number.NaN)
  }
  if (seconds <= maxSeconds) return seconds
  throw failure(
    'bad_request',
    `${member}: must be whole seconds up to ${maxSeconds}, or text such as 30s, 90m, 1h30m or 2d.`,
  )
}

const maxNameLength = 256
const maxNames = 1000

/** Names as an array, or as one comma-separated text. */
export const NameList = Type.Union([
  Type.Array(Type.String({ minLength: 1, maxLength: maxNameLength }), { maxItems: maxNames }),
  Type.String({ maxLength: 64 * 1024, description: 'Comma-separated names.' }),
])

/** @throws failure('bad_request') for more names than an array may contain, or longer ones */
export function readNameList(
  member: string,
  value: Static<typeof NameList> | readonly string[],
): readonly string[] {
  const names =
    typeof value !== 'string'
      ? value
      : value
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '')
  if (names.length <= maxNames && names.every(({ length }) => length <= maxNameLength)) return names
  throw failure(
    'bad_request',
    `${member}: must have at most ${maxNames} names of ${maxNameLength} characters.`,
  )
}

/** A count as Vault clients send it: a number, or digits. */
export const Count = Type.Union([
  Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
  Type.String({ pattern: '^[0-9]{1,9}$' }),
])

export const readCount = (value: Static<typeof Count>): number => Number(value)

/** A flag as Vault clients send it. */
export const Flag = Type.Union([Type.Boolean(), Type.Literal('true'), Type.Literal('false')])

export const readFlag = (value: Static<typeof Flag>): boolean => value === true || value === 'true'

/** Limits of the tokens that a role issues, as Vault documents them; 0 or an empty list means unlimited. */
export interface TokenLimits {
  /** Address blocks from which a token may be used. */
  readonly boundCidrs: readonly string[]
  /** Maximum number of requests with a token. */
  readonly numUses: number
  /** Maximum lifetime of a token in seconds; the role's value at the renewal applies. */
  readonly maxTtl: number
  /** Maximum lifetime of a token in seconds; the role's value at the issue applies. */
  readonly explicitMaxTtl: number
}

/** Limits of the secret ids of a role. */
export interface SecretIdLimits {
  /** Default and maximum of `num_uses` of a secret id. */
  readonly numUses: number
  /** Address blocks from which clients may log in with the role. */
  readonly boundCidrs: readonly string[]
}

export const noTokenLimits: TokenLimits = { boundCidrs: [], numUses: 0, maxTtl: 0, explicitMaxTtl: 0 }
export const noSecretIdLimits: SecretIdLimits = { numUses: 0, boundCidrs: [] }

/** Members of Vault that would change the kind of token: only the value that has no effect is accepted. */
const fixedMembers = {
  token_type: Type.Optional(Type.String({ maxLength: 64, description: 'default or service.' })),
  token_period: Type.Optional(Duration),
  period: Type.Optional(Duration),
  token_no_default_policy: Type.Optional(
    Type.Union([Flag], { description: 'Has no effect: there is no default policy.' }),
  ),
}

export const tokenLimitMembers = {
  token_bound_cidrs: Type.Optional(
    Type.Union([NameList], { description: 'Address blocks from which its tokens may be used.' }),
  ),
  token_num_uses: Type.Optional(
    Type.Union([Count], { description: 'Maximum number of requests with a token; 0 = unlimited.' }),
  ),
  token_max_ttl: Type.Optional(
    Type.Union([Duration], {
      description: 'Maximum lifetime of a token, including renewals; 0 = unlimited.',
    }),
  ),
  token_explicit_max_ttl: Type.Optional(
    Type.Union([Duration], {
      description: 'Like token_max_ttl, but fixed at login: later changes of the role do not affect it.',
    }),
  ),
  ...fixedMembers,
}
const TokenLimitFields = Type.Object(tokenLimitMembers)

export const secretIdLimitMembers = {
  secret_id_num_uses: Type.Optional(
    Type.Union([Count], { description: 'Maximum number of uses of a SecretID; 0 = unlimited.' }),
  ),
  secret_id_bound_cidrs: Type.Optional(
    Type.Union([NameList], { description: 'Address blocks from which clients may log in with the role.' }),
  ),
  local_secret_ids: Type.Optional(Flag),
  enable_local_secret_ids: Type.Optional(Flag),
}
const SecretIdLimitFields = Type.Object(secretIdLimitMembers)

const maxBlocks = 256

/** @throws failure('bad_request') that names the member */
export function readCidrs(
  member: string,
  value: Static<typeof NameList> | readonly string[] | undefined,
): readonly string[] {
  const blocks = value === undefined ? [] : readNameList(member, value)
  if (blocks.length > maxBlocks)
    throw failure('bad_request', `${member}: must have at most ${maxBlocks} address blocks.`)
  if (blocks.some((block) => parseCidr(block) === undefined))
    throw failure('bad_request', `${member}: must be address blocks such as 10.0.0.0/8 or 2001:db8::/32.`)
  return [...new Set(blocks)]
}

/**
 * @param tokenTtl seconds, if the request has it
 * @param before limits that apply if the request has none
 * @throws failure('bad_request') that names the member
 */
export function readTokenLimits(
  body: Static<typeof TokenLimitFields>,
  tokenTtl: number | undefined,
  before: TokenLimits = noTokenLimits,
): TokenLimits {
  const { token_type: type = 'default', token_period: period = body.period ?? 0 } = body
  if (!['', 'default', 'service', 'default-service'].includes(type))
    throw failure('bad_request', 'token_type: must be default or service; batch tokens are not supported.')
  if (readDuration('token_period', period) !== 0)
    throw failure('bad_request', 'token_period: periodic tokens are not supported; omit it, or send 0.')
  const maxTtl = readDuration('token_max_ttl', body.token_max_ttl ?? before.maxTtl)
  if (maxTtl > 0 && tokenTtl !== undefined && (tokenTtl === 0 || tokenTtl > maxTtl))
    throw failure('bad_request', 'token_ttl: cannot be greater than token_max_ttl.')
  return {
    boundCidrs: readCidrs('token_bound_cidrs', body.token_bound_cidrs ?? before.boundCidrs),
    numUses: readCount(body.token_num_uses ?? before.numUses),
    maxTtl,
    explicitMaxTtl: readDuration(
      'token_explicit_max_ttl',
      body.token_explicit_max_ttl ?? before.explicitMaxTtl,
    ),
  }
}

/** @param before limits that apply if the request has none @throws failure('bad_request') that names the member */
export function readSecretIdLimits(
  body: Static<typeof SecretIdLimitFields>,
  before: SecretIdLimits = noSecretIdLimits,
): SecretIdLimits {
  for (const member of ['local_secret_ids', 'enable_local_secret_ids'] as const)
    if (readFlag(body[member] ?? false))
      throw failure(
        'bad_request',
        `${member}: node-local SecretIDs are not supported; omit it, or send false.`,
      )
  return {
    numUses: readCount(body.secret_id_num_uses ?? before.numUses),
    boundCidrs: readCidrs('secret_id_bound_cidrs', body.secret_id_bound_cidrs ?? before.boundCidrs),
  }
}

/** Formats limits with the member names of the interface and omits those without effect. */
export function showTokenLimits({ boundCidrs, numUses, maxTtl, explicitMaxTtl }: TokenLimits) {
  return {
    ...(boundCidrs.length > 0 && { token_bound_cidrs: [...boundCidrs] }),
    ...(numUses > 0 && { token_num_uses: numUses }),
    ...(maxTtl > 0 && { token_max_ttl: maxTtl }),
    ...(explicitMaxTtl > 0 && { token_explicit_max_ttl: explicitMaxTtl }),
  }
}

export function showSecretIdLimits({ numUses, boundCidrs }: SecretIdLimits) {
  return {
    ...(numUses > 0 && { secret_id_num_uses: numUses }),
    ...(boundCidrs.length > 0 && { secret_id_bound_cidrs: [...boundCidrs] }),
  }
}

const ifSet = { description: 'Absent: no limit.' }
export const tokenLimitReply = {
  token_bound_cidrs: Type.Optional(Type.Array(Type.String(), ifSet)),
  token_num_uses: Type.Optional(Type.Integer(ifSet)),
  token_max_ttl: Type.Optional(Type.Integer(ifSet)),
  token_explicit_max_ttl: Type.Optional(Type.Integer(ifSet)),
}
export const secretIdLimitReply = {
  secret_id_num_uses: Type.Optional(Type.Integer(ifSet)),
  secret_id_bound_cidrs: Type.Optional(Type.Array(Type.String(), ifSet)),
}

type Client = Pick<IncomingRequest, 'clientAddress' | 'isAddressKnown'>

/** Whether the address of a client is known and lies in one of the blocks; an empty list contains every client. */
export function isWithin(blocks: readonly string[], { clientAddress, isAddressKnown }: Client): boolean {
  return blocks.length === 0 || (isAddressKnown && addressSet(blocks).contains(clientAddress))
}

/**
 * Refuses a login that is bound to addresses, if the request was forwarded and the address of its client is
 * unknown.
 * @throws failure('forbidden')
 */
export function requireKnownAddress(
  { audit, request }: Pick<OperationContext<unknown>, 'audit' | 'request'>,
  ...blocks: readonly (readonly string[])[]
): void {
  if (request.isAddressKnown || blocks.every(({ length }) => length === 0)) return
  audit({ reason: 'address_not_known' })
  throw failure(
    'forbidden',
    'The role is bound to addresses, but the address of the client is unknown: the request was forwarded by a key management service that does not share WARDER_PEER_SECRET, or by a proxy that is not in audit_trusted_proxy_cidrs.',
  )
}

/** Whether each block lies in one of `outer`; an empty `outer` contains every block. */
export function areSubset(blocks: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true
  return blocks.every((text) => {
    const block = parseCidr(text)
    return outer.some((wide) => {
      const around = parseCidr(wide)
      if (block === undefined || around === undefined) return false
      const isWider = around.family === block.family && around.prefix <= block.prefix
      return isWider && addressSet([wide]).contains(block.address)
    })
  })
}

/** Expiry in Unix seconds of a lease that begins now; 0 = never. */
export function endOfLease(now: number, lease: number, caps: readonly number[]): number {
  const ends = [lease === 0 ? 0 : now + lease, ...caps].filter((end) => end !== 0)
  return ends.length === 0 ? 0 : Math.min(...ends)
}
