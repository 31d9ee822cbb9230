import { StartupError } from '@warder/base'

/** How a connection is encrypted, and how the server is verified. */
export interface SslSettings {
  /**
   * `full`: a chain to a trusted authority, and the name. `chain`: only the chain. `none`: encrypted without
   * authentication of the server. `undefined`: PGSSLMODE decides, else no TLS.
   */
  readonly verify: 'full' | 'chain' | 'none' | 'plain' | undefined
  /** PEM file; undefined = the authorities that Node trusts. */
  readonly rootCertificates: string | undefined
  /** PEM files of the client's certificate and its key. */
  readonly certificate: string | undefined
  readonly key: string | undefined
  /** TLS from the first byte (PostgreSQL 17). */
  readonly direct: boolean
}

interface SslParameters {
  readonly ssl?: string
  readonly sslmode?: string
  readonly sslrootcert?: string
  readonly sslcert?: string
  readonly sslkey?: string
  readonly sslnegotiation?: string
}

const modes = {
  disable: 'plain',
  'no-verify': 'none',
  // libpq does not verify the server here. Warder always authenticates the server when TLS is requested.
  require: 'full',
  'verify-ca': 'chain',
  'verify-full': 'full',
} as const

/**
 * Parses `sslmode` and related parameters of libpq. `allow` and `prefer` are refused: an attacker could choose plain text.
 * @throws StartupError
 */
function parseSslSettings(given: SslParameters): SslSettings {
  const { sslrootcert, sslcert, sslkey, sslnegotiation } = given
  const verify = parseVerification(given)
  if (sslnegotiation !== undefined && sslnegotiation !== 'direct' && sslnegotiation !== 'postgres')
    refuse('sslnegotiation must be postgres or direct')
  if ((sslcert === undefined) !== (sslkey === undefined)) refuse('sslcert and sslkey must be given together')
  if (verify === 'plain' && (sslrootcert ?? sslcert ?? sslnegotiation) !== undefined)
    refuse('sslmode=disable contradicts the other ssl parameters')
  if (verify === 'chain' && (sslrootcert === undefined || sslrootcert === 'system'))
    refuse('sslmode=verify-ca needs sslrootcert, or any public authority would be accepted')
  if (verify === 'none' && sslrootcert !== undefined)
    refuse('sslmode=no-verify contradicts sslrootcert: use verify-full')
  const wanted = (sslrootcert ?? sslcert ?? sslnegotiation) !== undefined
  return {
    verify: verify ?? (wanted ? 'full' : undefined),
    rootCertificates: sslrootcert === 'system' ? undefined : sslrootcert,
    certificate: sslcert,
    key: sslkey,
    direct: sslnegotiation === 'direct',
  }
}

function parseVerification({ ssl, sslmode }: SslParameters): SslSettings['verify'] {
  if (ssl !== undefined && sslmode !== undefined) refuse('has both ssl and sslmode')
  if (ssl !== undefined) {
    if (ssl === 'true' || ssl === '1') return 'full'
    if (ssl === 'false' || ssl === '0') return 'plain'
    return ssl === 'no-verify' ? 'none' : refuse('ssl must be true or false')
  }
  if (sslmode === undefined) return undefined
  if (Object.hasOwn(modes, sslmode)) return modes[sslmode as keyof typeof modes]
  if (sslmode === 'allow' || sslmode === 'prefer')
    return refuse(
      `sslmode=${sslmode} permits an attacker on the network to force plain text: use verify-full or disable`,
    )
  return refuse(`sslmode must be one of ${Object.keys(modes).join(', ')}`)
}

/** undefined = the client library's default: PGHOST and PGPORT, else localhost and 5432. */
export interface PostgresHost {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string | undefined
  readonly port: number | undefined
}

/** Which of the hosts is connected to: any that answers, one that accepts writes, or one that is no standby. */
type SessionTarget = 'any' | 'read-write' | 'primary'

/** The parts of `database_url`, read as libpq reads them (PostgreSQL 18 §32.1.1.2). */
export interface PostgresAddress {
  /** At least one, in the order in which they are tried. */
  readonly hosts: readonly PostgresHost[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  readonly target: SessionTarget
  readonly ssl: SslSettings
  readonly passfile: string | undefined
  /** For each host; undefined = the default of the client. */
  readonly connectTimeoutMs: number | undefined
  readonly options: string | undefined
  readonly applicationName: string | undefined
}

/** Parameters after the `?`; others are refused, so that a misspelt `sslmode` is noticed. */
const parameters = [
  'application_name',
  'connect_timeout',
  'dbname',
  'host',
  'options',
  'passfile',
  'password',
  'port',
  'ssl',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'target_session_attrs',
  'user',
] as const
type Parameters = Readonly<Partial<Record<(typeof parameters)[number], string>>>

const maxHosts = 16
const form =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^/?#]*)@)?(?<hosts>[^/?#]*)(?:\/(?<database>[^?#]*))?(?:\?(?<query>[^#]*))?$/

/** Whether this is the address of a PostgreSQL. */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(ql)?:\/\//.test(url)
}

/**
 * @param url `postgresql://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?sslmode=verify-full&…`
 * @throws StartupError that states the error without quoting the address, which may contain a password
 */
export function parsePostgresUrl(url: string): PostgresAddress {
  const parts = form.exec(url)?.groups
  if (parts === undefined) return refuse('must be postgresql://USER@HOST:PORT/DATABASE')
  const query = parseParameters(parts.query ?? '')
  const [user, ...password] = (parts.user ?? '').split(':')
  const hosts = parseHosts(parts.hosts ?? '', query)
  return {
    hosts,
    user: query.user ?? decodeText(user),
    password: query.password ?? decodeText(password.join(':')),
    database: query.dbname ?? decodeText(parts.database),
    target: parseTarget(query.target_session_attrs, hosts.length),
    ssl: parseSslSettings(query),
    passfile: query.passfile,
    connectTimeoutMs: parseTimeout(query.connect_timeout),
    options: query.options,
    applicationName: query.application_name,
  }
}

function refuse(problem: string): never {
  throw new StartupError(`database_url: ${problem}`)
}

/** Percent-decoded; undefined when there is nothing. */
function decodeText(encoded: string | undefined): string | undefined {
  if (encoded === undefined || encoded === '') return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    return refuse('has a % without two hexadecimal digits after it')
  }
}

function parseParameters(query: string): Parameters {
  const found = new Map<string, string>()
  for (const pair of query.split('&').filter(Boolean)) {
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(pair) ?? []
    if (!(parameters as readonly string[]).includes(name))
      refuse(`has an unknown parameter '${name}'; known parameters: ${parameters.join(', ')}`)
    if (found.has(name)) refuse(`has the parameter ${name} twice`)
    found.set(name, decodeText(value) ?? '')
  }
  return Object.fromEntries(found) as Parameters
}

function parseHosts(authority: string, { host, port }: Parameters): readonly PostgresHost[] {
  if (host !== undefined && authority !== '') refuse('names hosts both before and after the ?')
  const named =
    host !== undefined || port !== undefined
      ? parseHostLists(host ?? '', port ?? '')
      : authority.split(',').map(parseHostAndPort)
  if (named.length > maxHosts) refuse(`names more than ${maxHosts} hosts`)
  if (named.length > 1 && named.some((one) => one.host === undefined)) refuse('has a host without a name')
  return named
}

/** `host=a,b&port=1,2`: a port for each host, or one for all of them. */
function parseHostLists(hosts: string, ports: string): readonly PostgresHost[] {
  const names = hosts.split(',')
  const numbers = ports.split(',')
  if (numbers.length !== 1 && numbers.length !== names.length)
    refuse(`names ${names.length} hosts and ${numbers.length} ports`)
  return names.map((name, index) => ({
    host: name === '' ? undefined : name,
    port: parsePort(numbers.length === 1 ? numbers[0] : numbers[index]),
  }))
}

function parseHostAndPort(one: string): PostgresHost {
  const parts = /^(?:\[(?<address>[^\]]+)\]|(?<name>[^:]*))(?::(?<port>.*))?$/.exec(one)?.groups
  if (parts === undefined) return refuse('has a host that is not HOST:PORT (an IPv6 address needs [])')
  return { host: parts.address ?? decodeText(parts.name), port: parsePort(parts.port) }
}

function parsePort(port: string | undefined): number | undefined {
  if (port === undefined || port === '') return undefined
  const number = Number(port)
  if (!/^\d{1,5}$/.test(port) || number < 1 || number > 65_535)
    return refuse('has a port that is not a number from 1 to 65535')
  return number
}

function parseTarget(target: string | undefined, hosts: number): SessionTarget {
  // Only one of several hosts accepts writes: a standby would refuse them.
  if (target === undefined) return hosts > 1 ? 'read-write' : 'any'
  if (target === 'any' || target === 'read-write' || target === 'primary') return target
  return refuse('target_session_attrs must be read-write, primary or any, because Warder needs to write')
}

function parseTimeout(seconds: string | undefined): number | undefined {
  if (seconds === undefined) return undefined
  if (!/^\d{1,3}$/.test(seconds) || Number(seconds) === 0)
    return refuse('connect_timeout must be a number of seconds from 1 to 999')
  return Number(seconds) * 1000
}
