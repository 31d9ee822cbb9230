/** A credential whose roles count, as `role_sources` declares it. */
export interface RoleSource {
  /** In grants: `role:NAME/…`. */
  readonly name: string
  readonly kind: RoleSourceKind
  /** Issuer of tokens, or realm of sessions; empty for certificates. */
  readonly issuer: string
  /** The claim as it was declared, or the field of a certificate. */
  readonly claim: string
  /** Names of the members that lead to the claim. */
  readonly path: readonly string[]
  /** Only values that begin with it are roles, and it is not a part of their names. */
  readonly prefix: string
  /** PEM file: one of its authorities must have issued the certificate. undefined: each accepted authority may. */
  readonly authorityFile?: string
}

export type RoleSourceKind = 'jwt' | 'session' | 'certificate'

/** Fields of a certificate that a source may read. */
const certificateFields = ['ou', 'san-uri', 'san-dns', 'san-email'] as const

/** The claim of session tokens. */
const sessionClaim = 'roles'
const maxSources = 32
const sourceName = /^[a-z][a-z0-9-]{0,31}$/
const realmId = /^[A-Za-z0-9_-]{1,64}$/

/**
 * Parses the entries of `role_sources`: `NAME,jwt,ISSUER,CLAIM[,PREFIX]`, `NAME,session,REALM[,PREFIX]` and
 * `NAME,certificate,FIELD[,PREFIX[,AUTHORITY FILE]]`, or returns the problem of the first entry that cannot work.
 */
export function readRoleSources(
  texts: readonly string[],
): readonly RoleSource[] | { readonly problem: string } {
  const sources = new Map<string, RoleSource>()
  if (texts.length > maxSources) return { problem: `must have at most ${maxSources} sources` }
  for (const text of texts) {
    const read = readRoleSource(text)
    if ('problem' in read) return { problem: `${read.problem} (got ${JSON.stringify(text)})` }
    if (sources.has(read.name)) return { problem: `must name each source once: ${read.name} is repeated` }
    sources.set(read.name, read)
  }
  return [...sources.values()]
}

export function roleSourcesProblem(texts: readonly string[]): string | undefined {
  const read = readRoleSources(texts)
  return 'problem' in read ? read.problem : undefined
}

function readRoleSource(text: string): RoleSource | { readonly problem: string } {
  const [name = '', kind = '', ...rest] = text.split(',').map((part) => part.trim())
  if (!sourceName.test(name))
    return {
      problem:
        'must begin each source with its name: 1 to 32 lower-case letters, digits and hyphens, beginning with a letter',
    }
  switch (kind) {
    case 'jwt':
      return readJwtSource(name, rest)
    case 'session': {
      const [issuer = '', prefix = '', ...more] = rest
      if (!realmId.test(issuer) || more.length > 0)
        return { problem: `must have the form ${name},session,REALM[,PREFIX]` }
      return { name, kind, issuer, claim: sessionClaim, path: [sessionClaim], prefix }
    }
    case 'certificate': {
      const [claim = '', prefix = '', authorityFile = '', ...more] = rest
      if (!certificateFields.some((field) => field === claim) || more.length > 0)
        return {
          problem: `must have the form ${name},certificate,FIELD[,PREFIX[,AUTHORITY FILE]], with one of the fields ${certificateFields.join(', ')}`,
        }
      const source = { name, kind, issuer: '', claim, path: [], prefix } as const
      return authorityFile === '' ? source : { ...source, authorityFile }
    }
    default:
      return { problem: `must name the kind of ${name}: jwt, session or certificate` }
  }
}

function readJwtSource(name: string, parts: readonly string[]): RoleSource | { readonly problem: string } {
  const [issuer = '', claim = '', prefix = '', ...more] = parts
  const path = readClaimPath(claim)
  if (issuer === '' || more.length > 0)
    return { problem: `must have the form ${name},jwt,ISSUER,CLAIM[,PREFIX]` }
  if (path === undefined)
    return {
      problem: `must name the claim of ${name} by its name, by a path with dots, or by a JSON Pointer that begins with a slash`,
    }
  return { name, kind: 'jwt', issuer, claim, path, prefix }
}

/** Names with dots between them, or a JSON Pointer (RFC 6901 §3), for names that contain dots. */
function readClaimPath(claim: string): readonly string[] | undefined {
  const isPointer = claim.startsWith('/')
  if (isPointer && /~(?![01])/.test(claim)) return undefined
  const names = isPointer
    ? claim
        .slice(1)
        .split('/')
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    : claim.split('.')
  return names.some((name) => name === '') ? undefined : names
}
