import {
  constants,
  createHash,
  createPrivateKey,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type TlsOptions } from 'node:tls'
import { inHome, readPasswordFile, readPrivateFile, StartupError } from '@warder/base'
import { PkiError, pemText, privateKeyText, readPkcs12Pair } from '@warder/pki'

/** TLS 1.3 suites (RFC 8446 §B.4): one name for OpenSSL and IANA. */
const tls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'] as const

/**
 * TLS 1.2 suites that may be chosen: IANA name -> OpenSSL name. Only suites with forward secrecy and an AEAD.
 */
const tls12: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_DHE_RSA_WITH_AES_128_GCM_SHA256: 'DHE-RSA-AES128-GCM-SHA256',
  TLS_DHE_RSA_WITH_AES_256_GCM_SHA384: 'DHE-RSA-AES256-GCM-SHA384',
}

/** Mozilla's intermediate profile, version 5, in its order. */
export const intermediateSuites: readonly string[] = [...tls13, ...Object.values(tls12)]

interface CipherChoice {
  /** For OpenSSL: TLS 1.3 and TLS 1.2 names, joined by colons. */
  readonly ciphers: string
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** TLS 1.2 only when no TLS 1.3 suite was named. */
  readonly maxVersion: 'TLSv1.2' | 'TLSv1.3'
}

/**
 * @param setting `tls_cipher_suites`: OpenSSL or IANA names separated by colons or commas; undefined = the profile
 * @throws StartupError naming a suite that is unknown or too weak
 */
export function chooseCiphers(setting: string | undefined): CipherChoice {
  const names = setting === undefined ? intermediateSuites : splitNames(setting)
  const chosen = names.map(toOpenSslName)
  const only13 = chosen.every(isTls13)
  const only12 = !chosen.some(isTls13)
  return {
    ciphers: [...new Set(chosen)].join(':'),
    minVersion: only13 ? 'TLSv1.3' : 'TLSv1.2',
    maxVersion: only12 ? 'TLSv1.2' : 'TLSv1.3',
  }
}

function splitNames(setting: string): string[] {
  const names = setting
    .split(/[:,\s]+/)
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length === 0)
    throw new StartupError('tls_cipher_suites is empty: name at least one suite, or omit the setting')
  return names
}

function isTls13(name: string): boolean {
  return (tls13 as readonly string[]).includes(name)
}

function toOpenSslName(name: string): string {
  const upper = name.toUpperCase()
  if (isTls13(upper)) return upper
  const known = tls12[upper] ?? Object.values(tls12).find((openSsl) => openSsl === upper)
  if (known === undefined) {
    throw new StartupError(
      `tls_cipher_suites: '${name}' is unknown or not supported; supported are: ${intermediateSuites.join(', ')}`,
    )
  }
  return known
}

/** A certificate and its key, with the settings that name them. */
interface PemFiles {
  readonly certFile: string
  readonly keyFile: string
  readonly certSetting: string
  readonly keySetting: string
}

/** A PKCS#12 file with a certificate, its chain and its key, readable only by its owner. */
export interface Pkcs12File {
  readonly p12File: string
  /** Read with the file. undefined = `password`. */
  readonly passwordFile?: string | undefined
  /** Default: an empty one. */
  readonly password?: string | undefined
  /** The settings that name the file and the password file. */
  readonly setting: string
  readonly passwordSetting: string
}

type Pair = PemFiles | Pkcs12File

/** Settings of such a file; paths start at the home. */
export interface Pkcs12Settings {
  readonly tls_p12_file: string | undefined
  readonly tls_p12_password_file: string | undefined
  readonly tls_p12_password: string | undefined
}

/** The PKCS#12 file of the settings; undefined = there is none. */
export function getPkcs12File(config: Pkcs12Settings, home: string): Pkcs12File | undefined {
  const { tls_p12_file: file, tls_p12_password_file: passwordFile, tls_p12_password: password } = config
  if (file === undefined) return undefined
  return {
    p12File: inHome(home, file),
    passwordFile: passwordFile === undefined ? undefined : inHome(home, passwordFile),
    password,
    setting: 'tls_p12_file',
    passwordSetting: passwordFile === undefined ? 'tls_p12_password' : 'tls_p12_password_file',
  }
}

/** A file of authorities, and the setting that names it. */
export interface AuthoritiesFile {
  readonly file: string
  readonly setting: string
}

export interface TlsFiles {
  /** PEM: the server's certificate, then its intermediates. */
  readonly certFile: string
  readonly keyFile: string
  /** In place of a certificate file and a key file. */
  readonly p12?: Pkcs12File | undefined
  /** A second certificate with a key of another kind, for clients that know that kind alone. */
  readonly second?: Pair | undefined
  /** PEM: authorities whose client certificates are accepted; a certificate is then asked for. */
  readonly clientsCaFile?: string | undefined
  /** PEM: authorities of partners, beside those (`ClientAuthorities`). */
  readonly partnersCaFiles?: readonly AuthoritiesFile[] | undefined
  readonly cipherSuites?: string | undefined
  /** true: a connection without a verified client certificate is closed in the handshake (a listener beside HTTPS). */
  readonly requireClientCertificate?: boolean
  /** 48 bytes shared by all workers, so that a session resumes on any of them. */
  readonly ticketKeys?: Buffer | undefined
}

/** Options of `node:tls` as plain data: they can be handed to worker threads. */
export type TlsProfile = Readonly<TlsOptions>

/**
 * Server options: TLS 1.2 and 1.3, Mozilla's intermediate profile v5, PQ hybrid key exchange if the client can. A
 * client certificate that does not verify does not end the handshake (`getVerifiedPeerCertificate` then finds none).
 * @throws StartupError with one line that names the file and the error
 */
export function tlsProfile(files: TlsFiles): TlsProfile {
  const choice = chooseCiphers(files.cipherSuites)
  const { certFile, keyFile, second, p12 } = files
  const names = { certSetting: 'tls_cert_file', keySetting: 'tls_key_file' }
  const first = readPair(p12 ?? { certFile, keyFile, ...names })
  const pairs = second === undefined ? [first] : [first, readPair(second)]
  checkSuites(
    choice,
    pairs.map(({ privateKey }) => privateKey.asymmetricKeyType),
  )
  if (files.requireClientCertificate === true && files.clientsCaFile === undefined) {
    throw new StartupError('client certificates cannot be required without clients_ca_cert_file')
  }
  const ca = joinPem([
    ...(files.clientsCaFile === undefined
      ? []
      : [readAuthorities(files.clientsCaFile, 'clients_ca_cert_file')]),
    ...(files.partnersCaFiles ?? []).map(({ file, setting }) => readAuthorities(file, setting)),
  ])
  return {
    cert: second === undefined ? first.cert : pairs.map(({ cert }) => cert),
    key: second === undefined ? first.key : pairs.map(({ key }) => key),
    ...(ca === undefined ? {} : { ca }),
    requestCert: ca !== undefined,
    rejectUnauthorized: files.requireClientCertificate === true,
    ...choice,
    // Without parameters OpenSSL leaves DHE out. A client can make the server work hard with it at little cost of its
    // own (CVE-2002-20001), so only those who name it get it.
    ...(files.cipherSuites !== undefined && /(^|:)DHE-/.test(choice.ciphers) ? { dhparam: 'auto' } : {}),
    honorCipherOrder: false,
    // RFC 9325 §3.5: a client that renegotiates makes the server repeat its private key operation (CVE-2011-1473).
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    // Both are served; a client that names one of them alone must not be turned away (RFC 7301 §3.2).
    ALPNProtocols: ['http/1.1', 'http/1.0'],
    handshakeTimeout: 10_000,
    ...(files.ticketKeys === undefined ? {} : { ticketKeys: files.ticketKeys }),
    sessionIdContext: trustContext(ca, files.requireClientCertificate === true),
  }
}

function joinPem(authorities: readonly Buffer[]): Buffer | undefined {
  if (authorities.length < 2) return authorities[0]
  return Buffer.concat(authorities.flatMap((pem) => [pem, Buffer.from('\n')]))
}

/**
 * A session resumes only if the same client authorities are trusted in the same way: without this a ticket made under
 * one authority would carry its identity past the removal of that authority.
 */
function trustContext(ca: Buffer | undefined, required: boolean): string {
  const digest = createHash('sha256')
    .update(ca ?? 'no client authority')
    .update(required ? 'required' : 'optional')
  return digest.digest('hex').slice(0, 32)
}

/** The profile whose sessions do not resume under other CRLs: a resumed session does not show its whole chain. */
export function underCrls<Profile extends { readonly sessionIdContext?: unknown }>(
  profile: Profile,
  version: string,
): Profile {
  const context = createHash('sha256').update(String(profile.sessionIdContext)).update(version)
  return { ...profile, sessionIdContext: context.digest('hex').slice(0, 32) }
}

/** Ticket keys for the workers of one service. */
export function newTicketKeys(): Buffer {
  return randomBytes(48)
}

/**
 * Certificates of authorities, PEM.
 * @param setting begins the sentence of the error
 * @throws StartupError with one line that names the file and the error
 */
export function readAuthorities(file: string, setting: string): Buffer {
  const pem = readPem(file, setting)
  parseCertificate(pem, file, setting)
  return pem
}

function readPem(
  file: string,
  setting: string,
  toText = (bytes: Uint8Array): string => pemText(bytes, 'CERTIFICATE'),
): Buffer {
  try {
    return Buffer.from(toText(readFileSync(file)))
  } catch (error) {
    throw new StartupError(`${setting}: cannot read ${file}: ${getErrorMessage(error)}`)
  }
}

function parseCertificate(pem: Buffer, file: string, setting: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (error) {
    throw new StartupError(`${setting}: ${file} contains no certificate in PEM: ${getErrorMessage(error)}`)
  }
}

/** @throws StartupError that names the setting and the file that cannot be used */
export function readPair(pair: Pair) {
  return 'p12File' in pair ? readPkcs12File(pair) : readPemFiles(pair)
}

function readPkcs12File({ p12File, passwordFile, password = '', setting, passwordSetting }: Pkcs12File) {
  const bytes = readPrivateFile(p12File, setting)
  const given = passwordFile === undefined ? password : readPasswordFile(passwordFile, passwordSetting)
  try {
    const pair = readPkcs12Pair(bytes, given)
    const [cert, key] = [Buffer.from(pair.cert), Buffer.from(pair.key)]
    createSecureContext({ cert, key })
    return { cert, key, privateKey: createPrivateKey(key) }
  } catch (error) {
    const hint =
      error instanceof PkiError && error.code === 'wrong_password' ? ` Check ${passwordSetting}.` : ''
    throw new StartupError(`${setting}: ${p12File} cannot be used: ${getErrorMessage(error)}${hint}`)
  }
}

function readPemFiles({ certFile, keyFile, certSetting, keySetting }: PemFiles) {
  const cert = readPem(certFile, certSetting)
  const key = readPem(keyFile, keySetting, privateKeyText)
  const certificate = parseCertificate(cert, certFile, certSetting)
  let privateKey: KeyObject
  try {
    privateKey = createPrivateKey(key)
  } catch (error) {
    throw new StartupError(
      `${keySetting}: ${keyFile} contains no private key in PEM: ${getErrorMessage(error)}`,
    )
  }
  if (!certificate.checkPrivateKey(privateKey))
    throw new StartupError(`${keySetting}: ${keyFile} is not the key of ${certFile}`)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new StartupError(`${certSetting}: ${certFile} cannot be used: ${getErrorMessage(error)}`)
  }
  return { cert, key, privateKey }
}

/**
 * With TLS 1.2 alone and suites of another kind of key no handshake would ever succeed (RFC 8422 §2.1, §2.2).
 * @param keyTypes as node:crypto names them
 * @throws StartupError
 */
export function checkSuites(
  { ciphers, maxVersion }: CipherChoice,
  keyTypes: readonly (string | undefined)[],
): void {
  if (maxVersion !== 'TLSv1.2') return
  const areRsa = keyTypes.map((type) => type?.startsWith('rsa') === true)
  if (ciphers.split(':').some((suite) => areRsa.includes(suite.includes('-RSA-')))) return
  const [needed, given] = areRsa[0] === true ? ['ECDSA', 'RSA'] : ['RSA', keyTypes[0]]
  throw new StartupError(
    `tls_cipher_suites: ${ciphers} needs an ${needed} key, and the key of the server is of type ${given}`,
  )
}

function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
