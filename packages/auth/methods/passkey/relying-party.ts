import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { failure, inHome, StartupError } from '@warder/base'
import Type from 'typebox'
import type { LoginServices } from '../../login/method.ts'
import { methodSettings } from '../../realms/realm.ts'

/** Services used by passkeys, besides those of a login. */
export interface PasskeyServices extends LoginServices {
  readonly passkeys: PasskeyPolicy
}

/** Whether users of a realm register passkeys and log in with them. */
export const passkeySettings = methodSettings('fido2_params', Type.Object({}))

/** The relying party of passkeys, and the authenticators that it accepts. */
export interface PasskeyPolicy {
  /** undefined: the host of the service is an IP address, and the settings contain no RP ID. */
  readonly relyingParty: RelyingParty | undefined
  /** undefined: every authenticator is accepted. */
  readonly attestation: AttestationPolicy | undefined
}

export interface RelyingParty {
  /** RP ID: a domain (WebAuthn Level 3 §5.1.2). */
  readonly id: string
  /** Origins of the pages that may use passkeys. */
  readonly origins: readonly string[]
}

/** @throws failure('not_found') */
export function requireRelyingParty({ passkeys }: Pick<PasskeyServices, 'passkeys'>): RelyingParty {
  const { relyingParty } = passkeys
  if (relyingParty !== undefined) return relyingParty
  throw failure('not_found', 'Passkeys require a domain: an administrator sets passkey_rp_id.')
}

/** The user handle of a person: bytes of their subject id, which is no personal data (WebAuthn Level 3 §14.6.1). */
export function toUserHandle(subjectId: string): string {
  return Buffer.from(subjectId.replaceAll('-', ''), 'hex').toString('base64url')
}

/** Authenticators must prove their model by a certificate. */
export interface AttestationPolicy {
  /** Permitted models. */
  readonly aaguids: ReadonlySet<string>
  /** DER of the authorities of their manufacturers. */
  readonly anchors: readonly Uint8Array[]
}

export interface PasskeySettings {
  readonly issuer: string | undefined
  readonly passkey_rp_id: string | undefined
  readonly passkey_origins: readonly string[]
  readonly passkey_attestation: 'none' | 'direct'
  readonly passkey_aaguids: readonly string[]
  readonly passkey_attestation_ca_files: readonly string[]
}

/** @throws StartupError for settings that contradict each other */
export function readPasskeyPolicy(config: PasskeySettings, home: string, baseUrl: string): PasskeyPolicy {
  return { relyingParty: readRelyingParty(config, baseUrl), attestation: readAttestation(config, home) }
}

const publicAddress = (issuer: string | undefined, baseUrl: string): URL | null => {
  const own = issuer === undefined ? null : URL.parse(issuer)
  return own?.protocol === 'https:' ? own : URL.parse(baseUrl)
}

function readRelyingParty(config: PasskeySettings, baseUrl: string): RelyingParty | undefined {
  const { passkey_rp_id: configured, passkey_origins: origins } = config
  const address = publicAddress(config.issuer, baseUrl)
  const host = address?.hostname.replace(/^\[|\]$/g, '') ?? ''
  const isLoopback = /^127\.|^::1$/.test(host)
  // An IP address is no RP ID. Browsers treat localhost as a domain.
  const own = isIP(host) === 0 ? host : isLoopback ? 'localhost' : undefined
  const id = configured ?? own
  if (id === undefined || id === '') {
    if (origins.length > 0)
      throw new StartupError(
        'passkey_origins requires passkey_rp_id: the host name of the service is an IP address',
      )
    return undefined
  }
  if (origins.length > 0) {
    const foreign = origins.find((origin) => !belongsTo(id, new URL(origin).hostname))
    if (foreign !== undefined)
      throw new StartupError(
        `passkey_origins: ${foreign} is not an origin of the domain ${id} (passkey_rp_id) or below it`,
      )
    return { id, origins }
  }
  const port = address === null || address.port === '' ? '' : `:${address.port}`
  if (own === undefined || !belongsTo(id, own))
    throw new StartupError(
      `passkey_rp_id: the address of the service is not below ${id}: set passkey_origins`,
    )
  return { id, origins: [`https://${own}${port}`] }
}

function belongsTo(id: string, host: string): boolean {
  return host === id || host.endsWith(`.${id}`)
}

function readAttestation(config: PasskeySettings, home: string): AttestationPolicy | undefined {
  const { passkey_aaguids: aaguids, passkey_attestation_ca_files: files } = config
  if (config.passkey_attestation === 'none') {
    if (aaguids.length + files.length === 0) return undefined
    throw new StartupError(
      'passkey_aaguids and passkey_attestation_ca_files require passkey_attestation = "direct"',
    )
  }
  if (aaguids.length === 0 || files.length === 0)
    throw new StartupError(
      'passkey_attestation = "direct" requires passkey_aaguids and passkey_attestation_ca_files',
    )
  return {
    aaguids: new Set(aaguids.map((aaguid) => aaguid.toLowerCase())),
    anchors: files.flatMap((file) => readAnchors(inHome(home, file))),
  }
}

const certificatePem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

function readAnchors(path: string): readonly Uint8Array[] {
  try {
    const certificates = readFileSync(path, 'utf8').match(certificatePem) ?? []
    if (certificates.length === 0) throw new Error('it contains no certificate')
    return certificates.map((pem) => new X509Certificate(pem).raw)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartupError(`passkey_attestation_ca_files: cannot read ${path}: ${why}`)
  }
}
