import { StartupError } from '@warder/base'

/** TLS 1.3 suites (RFC 8446 §B.4): one name for OpenSSL and IANA. */
const tls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'] as const

/** TLS 1.2 suites that may be chosen: IANA name -> OpenSSL name. Forward secrecy and an AEAD, nothing else. */
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

export interface CipherChoice {
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
