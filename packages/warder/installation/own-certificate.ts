import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { rootCertificates } from 'node:tls'
import { inHome, StartupError } from '@warder/base'
import { type OwnTls, toHomePath } from '@warder/command-line/endpoints'
import type { ServerFiles } from '@warder/server'
import type { ServiceConfiguration } from './configuration.ts'

/** Finds the files of a certificate of the operator; undefined = the service has one of the local authority, or none. */
function findOwnFiles({ launch }: ServiceConfiguration): ServerFiles | undefined {
  const { home, config } = launch
  const { plaintext_http: plain, tls_cert_file: cert, tls_key_file: key } = config
  if (plain || cert === undefined || key === undefined) return undefined
  return { certFile: inHome(home, cert), keyFile: inHome(home, key) }
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
  const files = findOwnFiles(auth)
  if (files === undefined || kms.loaded.provenance.auth_verifier_url !== 'default') return
  if (!existsSync(files.certFile) || !existsSync(files.keyFile)) return // The service itself reports the missing file.
  const authority = findSettingFile(kms, 'auth_verifier_ca_cert')
  const trusted = authority === undefined ? undefined : [...rootCertificates, readFileSync(authority, 'utf8')]
  const { port } = new URL(authUrl)
  const { findClientRefusal } = await import('@warder/server')
  const refusal = await findClientRefusal(files, getHost(authUrl), trusted)
  if (refusal === undefined) return
  const what = `the kms cannot verify auth's certificate ${files.certFile} (tls_cert_file) at ${authUrl}`
  if (refusal.reason === 'trust') {
    throw new StartupError(
      `${what}: ${refusal.detail}; set auth_verifier_ca_cert in kms.toml to the PEM file of its authority`,
    )
  }
  const name = findDnsName(files.certFile) ?? 'NAME'
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
  const files = findOwnFiles(service)
  if (files === undefined) return undefined
  const address = getHost(url)
  const name = findOtherName(files, address)
  const named = name === undefined ? {} : { server_name: name }
  const { findClientRefusal } = await import('@warder/server')
  const known = others.flatMap((one) =>
    ['auth_verifier_ca_cert', 'outbound_ca_file', 'clients_ca_cert_file'].map((setting) =>
      findSettingFile(one, setting),
    ),
  )
  for (const authority of [undefined, ...known.filter((file) => file !== undefined)]) {
    const trusted = authority === undefined ? undefined : [readFileSync(authority, 'utf8')]
    if ((await findClientRefusal(files, name ?? address, trusted)) === undefined)
      return { ...named, ...(authority === undefined ? {} : { ca_file: toHomePath(home, authority) }) }
  }
  // If its authority is not known, trust the certificate itself (RFC 5280 §6.1: any certificate may be an anchor).
  return { ...named, ca_file: toHomePath(home, files.certFile) }
}

function getHost(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '')
}

/** Finds a name in the certificate, if it does not cover the listen address. */
function findOtherName({ certFile }: ServerFiles, address: string): string | undefined {
  const certificate = new X509Certificate(readFileSync(certFile))
  const covered = isIP(address) === 0 ? certificate.checkHost(address) : certificate.checkIP(address)
  return covered === undefined ? findDnsName(certFile) : undefined
}

/** Finds the first DNS name in a certificate that is not a wildcard. */
function findDnsName(certFile: string): string | undefined {
  const names = new X509Certificate(readFileSync(certFile)).subjectAltName ?? ''
  return /(?:^|, )DNS:([A-Za-z0-9][A-Za-z0-9.-]*)/.exec(names)?.[1]
}

function findSettingFile({ launch }: ServiceConfiguration, setting: string): string | undefined {
  const value = launch.config[setting]
  const file = typeof value === 'string' ? inHome(launch.home, value) : undefined
  return file !== undefined && existsSync(file) ? file : undefined
}
