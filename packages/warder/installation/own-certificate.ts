import { X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { basename, join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { inHome, StartupError } from '@warder/base'
import { type OwnTls, toHomePath } from '@warder/command-line/endpoints'
import type { ServerPair } from '@warder/server'
import type { ServiceConfiguration } from './configuration.ts'

/** A certificate of the operator. */
interface OwnCertificate extends ServerPair {
  readonly file: string
  readonly setting: 'tls_cert_file' | 'tls_p12_file'
}

/** Reads a certificate of the operator; undefined = the service has one of the local authority, or none. @throws StartupError */
async function readOwnCertificate({ launch }: ServiceConfiguration): Promise<OwnCertificate | undefined> {
  const { home, config } = launch
  const { plaintext_http: plain, tls_cert_file: cert, tls_key_file: key } = config
  if (plain) return undefined
  const { getPkcs12File, readPair } = await import('@warder/server')
  const p12 = getPkcs12File(config, home)
  if (p12 !== undefined) return { ...readPair(p12), file: p12.p12File, setting: 'tls_p12_file' }
  if (cert === undefined || key === undefined) return undefined
  const [certFile, keyFile] = [inHome(home, cert), inHome(home, key)]
  const names = { certSetting: 'tls_cert_file', keySetting: 'tls_key_file' }
  return { ...readPair({ certFile, keyFile, ...names }), file: certFile, setting: 'tls_cert_file' }
}

/**
 * Refuses a start if the kms cannot verify the certificate of auth, because it would reject every token with 401.
 * @param authUrl address of auth for the kms, unless its settings name another
 * @throws StartupError that names the missing setting
 */
export async function requireReachableAuth(
  auth: ServiceConfiguration,
  kms: ServiceConfiguration,
  authUrl: string,
): Promise<void> {
  if (kms.loaded.provenance.auth_verifier_url !== 'default') return
  // The service itself reports a file that cannot be used.
  const own = await readOwnCertificate(auth).catch(() => undefined)
  if (own === undefined) return
  const authority = findSettingFile(kms, 'auth_verifier_ca_cert')
  const trusted = authority === undefined ? undefined : [...rootCertificates, readFileSync(authority, 'utf8')]
  const { port } = new URL(authUrl)
  const { findClientRefusal } = await import('@warder/server')
  const refusal = await findClientRefusal(own, getHost(authUrl), trusted)
  if (refusal === undefined) return
  const what = `the kms cannot verify auth's certificate ${own.file} (${own.setting}) at ${authUrl}`
  if (refusal.reason === 'trust') {
    throw new StartupError(
      `${what}: ${refusal.detail}; set auth_verifier_ca_cert in kms.toml to the PEM file of its authority`,
    )
  }
  const name = findDnsName(own) ?? 'NAME'
  throw new StartupError(
    `${what}, which is not a name in it; set auth_verifier_url in kms.toml, to https://${name}:${port} for example, ` +
      'and vault_auth_verifier_url to the same if machine tokens are used',
  )
}

/**
 * Finds the parameters to verify a certificate of the operator; undefined = the service has one of the local authority, or
 * none.
 * @param others services whose settings may name its authority
 */
export async function findOwnTls(
  service: ServiceConfiguration,
  url: string,
  others: readonly ServiceConfiguration[],
): Promise<OwnTls | undefined> {
  const { home } = service.launch
  const own = await readOwnCertificate(service)
  if (own === undefined) return undefined
  const address = getHost(url)
  const name = findOtherName(own, address)
  const named = name === undefined ? {} : { server_name: name }
  const { findClientRefusal } = await import('@warder/server')
  const known = others.flatMap((one) =>
    ['auth_verifier_ca_cert', 'outbound_ca_file', 'clients_ca_cert_file'].map((setting) =>
      findSettingFile(one, setting),
    ),
  )
  for (const authority of [undefined, ...known.filter((file) => file !== undefined)]) {
    const trusted = authority === undefined ? undefined : [readFileSync(authority, 'utf8')]
    if ((await findClientRefusal(own, name ?? address, trusted)) === undefined)
      return { ...named, ...(authority === undefined ? {} : { ca_file: toHomePath(home, authority) }) }
  }
  // If its authority is not known, trust the certificate itself (RFC 5280 §6.1: any certificate may be an anchor).
  const file = own.setting === 'tls_cert_file' ? own.file : writeCertificate(home, own)
  return { ...named, ca_file: toHomePath(home, file) }
}

/** Writes the certificates of a PKCS#12 file for commands, which have no password. @returns the PEM file */
function writeCertificate(home: string, { file, cert }: OwnCertificate): string {
  const path = join(home, 'tls', `${basename(file)}.crt`)
  mkdirSync(join(home, 'tls'), { recursive: true, mode: 0o700 })
  writeFileSync(`${path}.new`, cert, { mode: 0o600 })
  renameSync(`${path}.new`, path)
  return path
}

function getHost(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** Finds a name in the certificate, if it does not cover the listen address. */
function findOtherName(own: OwnCertificate, address: string): string | undefined {
  const certificate = new X509Certificate(own.cert)
  const covered = isIP(address) === 0 ? certificate.checkHost(address) : certificate.checkIP(address)
  return covered === undefined ? findDnsName(own) : undefined
}

/** Finds the first DNS name in a certificate that is not a wildcard. */
function findDnsName({ cert }: OwnCertificate): string | undefined {
  const names = new X509Certificate(cert).subjectAltName ?? ''
  return /(?:^|, )DNS:([A-Za-z0-9][A-Za-z0-9.-]*)/.exec(names)?.[1]
}

function findSettingFile({ launch }: ServiceConfiguration, setting: string): string | undefined {
  const value = launch.config[setting]
  const file = typeof value === 'string' ? inHome(launch.home, value) : undefined
  return file !== undefined && existsSync(file) ? file : undefined
}
