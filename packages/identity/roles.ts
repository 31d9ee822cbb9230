import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isName, type Logger, StartupError } from '@warder/base'
import { generalNameText, PkiError, readCertificate } from '@warder/pki'
import {
  type RoleSource,
  type RoleSourceKind,
  readProviderText,
  readRoleSources,
} from '@warder/runtime/settings'
import { type Principal, readAuthorities } from '@warder/server'

/** Claims of roles by their names in the settings, for a session that is stored. */
export type StoredRoleClaims = Readonly<Record<string, readonly string[]>>

type Claims = Readonly<Record<string, unknown>>

/** The settings of sources, and those that configure their inputs. */
export interface RoleConfig {
  readonly role_sources: readonly string[]
  readonly force_default_username: boolean
  readonly clients_ca_cert_file: string | undefined
  readonly jwt_auth_provider: readonly string[]
  readonly auth_verifier_url: string | undefined
  readonly auth_verifier_jwks: string | undefined
  readonly auth_verifier_realm: string | undefined
  readonly 'ui_config.ui_oidc_auth.ui_oidc_issuer_url': string | undefined
}

/** The issuer of a token, or the realm of a session. */
export interface ClaimsOrigin {
  readonly kind: Exclude<RoleSourceKind, 'certificate'>
  readonly issuer: string
}

/** Gives principals the roles of their verified credentials, as grants name them: `role:SOURCE/NAME`. */
export interface RoleReader {
  /** @param claims of a verified token or session */
  fromClaims(principal: Principal, origin: ClaimsOrigin, claims: Claims): Principal
  fromCertificate(principal: Principal, certificate: X509Certificate): Principal
  /** Selects the claims to store with a session, for `fromStored`; undefined: the login has no roles. */
  select(name: string, origin: ClaimsOrigin, claims: Claims): StoredRoleClaims | undefined
  /** Names follow the settings of now: a source that was removed or changed since the login grants no role. */
  fromStored(principal: Principal, origin: ClaimsOrigin, stored: StoredRoleClaims | undefined): Principal
}

/** Grants are looked up by these names at each request. */
const maxRoles = 64
const maxRoleLength = 128

/**
 * The sources of `role_sources`.
 * @throws StartupError for a source whose credentials are not accepted
 */
export function openRoleReader({
  config,
  home,
  log,
}: {
  readonly config: RoleConfig
  readonly home: string
  readonly log: Logger
}): RoleReader {
  const sources = readRoleSources(config.role_sources)
  if ('problem' in sources) throw new StartupError(`role_sources ${sources.problem}`)
  for (const source of sources) requireAccepted(source, config)
  const authorities = new Map<RoleSource, readonly X509Certificate[]>()
  for (const source of sources) {
    if (source.authorityFile !== undefined)
      authorities.set(source, readIssuers(source.name, source.authorityFile, home))
  }
  return createRoleReader(sources, authorities, log)
}

const certificateInPem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** @throws StartupError for a file that cannot be read, unless it is that of the local authority, which a start makes */
function readIssuers(name: string, path: string, home: string): readonly X509Certificate[] {
  const file = resolve(home, path)
  if (file === join(home, 'tls', 'ca.crt') && !existsSync(file)) return []
  const pem = readAuthorities(file, `role_sources: ${name}`).toString('utf8')
  return (pem.match(certificateInPem) ?? []).map((one) => new X509Certificate(one))
}

/** Whether one of the authorities signed the certificate itself: an authority below it is another one. */
function isIssuedBy(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  return authorities.some(
    (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
  )
}

/** @throws StartupError */
function requireAccepted({ name, kind, issuer }: RoleSource, config: RoleConfig): void {
  const refuse = (problem: string) => new StartupError(`role_sources: ${name} ${problem}`)
  if (config.force_default_username)
    throw refuse(
      'has no effect with force_default_username, since all callers are one user: remove one of the two',
    )
  if (kind === 'certificate') {
    if (config.clients_ca_cert_file === undefined)
      throw refuse('reads client certificates, which require clients_ca_cert_file')
    return
  }
  if (kind === 'jwt') {
    if (!listIssuers(config).includes(issuer))
      throw refuse(
        `names the issuer ${issuer}, which is neither in jwt_auth_provider nor ui_config.ui_oidc_auth.ui_oidc_issuer_url`,
      )
    return
  }
  if (config.auth_verifier_url === undefined && config.auth_verifier_jwks === undefined)
    throw refuse('reads sessions, which require auth_verifier_url or auth_verifier_jwks')
  const { auth_verifier_realm: only } = config
  if (only !== undefined && only !== issuer)
    throw refuse(`names the realm ${issuer}, and auth_verifier_realm accepts ${only} alone`)
}

function listIssuers(config: RoleConfig): readonly (string | undefined)[] {
  const issuers = config.jwt_auth_provider.map((text) => {
    const read = readProviderText(text)
    return 'problem' in read ? undefined : read.issuer
  })
  return [...issuers, config['ui_config.ui_oidc_auth.ui_oidc_issuer_url']]
}

function createRoleReader(
  sources: readonly RoleSource[],
  authorities: ReadonlyMap<RoleSource, readonly X509Certificate[]>,
  log: Logger,
): RoleReader {
  const certificateSources = sources.filter(({ kind }) => kind === 'certificate')
  const select = ({ kind, issuer }: ClaimsOrigin): readonly RoleSource[] =>
    sources.filter((source) => source.kind === kind && source.issuer === issuer)

  /** Roles of one credential by source; none if they are too many. */
  function read(
    name: string,
    from: readonly RoleSource[],
    readValue: (source: RoleSource) => unknown,
  ): ReadonlyMap<RoleSource, ReadonlySet<string>> {
    const found = from.map((source) => [source, readNames(source, readValue(source))] as const)
    const skipped = found.reduce((sum, [, names]) => sum + names.skipped, 0)
    const count = found.reduce((sum, [, names]) => sum + names.accepted.size, 0)
    const fields = { principal: name, sources: from.map((source) => source.name) }
    if (skipped > 0)
      log.info(
        { ...fields, skipped },
        'values of a credential that cannot be the name of a role were skipped',
      )
    if (count > maxRoles) {
      log.warn(
        { ...fields, roles: count, max_roles: maxRoles },
        'a credential has too many roles, so none of them counts: a prefix in role_sources selects the ones for this service',
      )
      return new Map()
    }
    return new Map(found.map(([source, { accepted }]) => [source, accepted]))
  }

  function add(
    principal: Principal,
    from: readonly RoleSource[],
    readValue: (source: RoleSource) => unknown,
  ): Principal {
    if (from.length === 0) return principal
    const roles = [...read(principal.name, from, readValue)].flatMap(([source, names]) =>
      [...names].map((name) => `role:${source.name}/${name.slice(source.prefix.length)}`),
    )
    return roles.length === 0 ? principal : { ...principal, roles }
  }

  return {
    fromClaims: (principal, origin, claims) =>
      add(principal, select(origin), ({ path }) => followPath(claims, path)),
    fromCertificate(principal, certificate) {
      const from = certificateSources.filter((source) => {
        const issuers = authorities.get(source)
        return issuers === undefined || isIssuedBy(certificate, issuers)
      })
      if (from.length === 0) return principal
      const fields = readFields(certificate)
      if (fields === undefined) {
        log.warn({ principal: principal.name }, 'the roles of a client certificate cannot be read')
        return principal
      }
      return add(principal, from, ({ claim }) => fields.get(claim))
    },
    select(name, origin, claims) {
      const selected = read(name, select(origin), ({ path }) => followPath(claims, path))
      // Two sources may read one claim, with different prefixes.
      const stored = new Map<string, Set<string>>()
      for (const [{ claim }, names] of selected) {
        if (names.size > 0) stored.set(claim, new Set([...(stored.get(claim) ?? []), ...names]))
      }
      if (stored.size === 0) return undefined
      return Object.fromEntries([...stored].map(([claim, names]) => [claim, [...names]]))
    },
    fromStored: (principal, origin, stored) =>
      stored === undefined
        ? principal
        : add(principal, select(origin), ({ claim }) =>
            Object.hasOwn(stored, claim) ? stored[claim] : undefined,
          ),
  }
}

/** The value at a path of own members; arrays have no members here. */
function followPath(claims: unknown, path: readonly string[]): unknown {
  let value = claims
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined
    value = (value as Claims)[name]
  }
  return value
}

/** One text or an array of texts, exactly as they are: neither case nor composed characters are changed. */
function readNames(
  { prefix }: RoleSource,
  value: unknown,
): { readonly accepted: ReadonlySet<string>; readonly skipped: number } {
  const accepted = new Set<string>()
  let skipped = 0
  for (const one of value === undefined || value === null ? [] : [value].flat()) {
    if (typeof one !== 'string') skipped += 1
    else if (!one.startsWith(prefix)) continue
    else if (isRoleName(one.slice(prefix.length))) accepted.add(one)
    else skipped += 1
  }
  return { accepted, skipped }
}

/** U+FFFD replaces invalid UTF-8: different bytes would become the same role. */
function isRoleName(text: string): boolean {
  return text.length <= maxRoleLength && text !== '*' && !text.includes('\ufffd') && isName(text)
}

/** Values of a certificate by the names of its fields in the settings; undefined: it cannot be read. */
function readFields({ raw }: X509Certificate): ReadonlyMap<string, readonly string[]> | undefined {
  try {
    const { subjectParts, subjectAlternativeNames } = readCertificate(raw)
    const names = subjectAlternativeNames.map(generalNameText)
    const listNames = (kind: string) =>
      names.filter((name) => name.startsWith(kind)).map((name) => name.slice(kind.length))
    return new Map([
      ['ou', subjectParts.flatMap(([part, value]) => (part === 'OU' ? [value] : []))],
      ['san-uri', listNames('URI:')],
      ['san-dns', listNames('DNS:')],
      ['san-email', listNames('email:')],
    ])
  } catch (error) {
    if (error instanceof PkiError) return undefined
    throw error
  }
}
