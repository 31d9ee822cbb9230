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
export function parseSslSettings(given: SslParameters): SslSettings {
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

function refuse(problem: string): never {
  throw new StartupError(`database_url: ${problem}`)
}
