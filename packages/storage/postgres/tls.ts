import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type ConnectionOptions, checkServerIdentity } from 'node:tls'
import { readPrivateFile, StartupError } from '@warder/base'
import { pemText, privateKeyText } from '@warder/pki'
import type { SslSettings } from './address.ts'

/**
 * TLS options for connections to the database. The files are read for each connection, so the next connection uses a
 * renewed certificate.
 * @param host of the server. It is passed on because the client library does not check an IP address against the
 *   certificate, and accepts `localhost` in its place
 * @param resolvePath makes a path absolute
 * @returns false = without TLS; undefined = as in PGSSLMODE
 * @throws StartupError for a file that cannot be used
 */
export function readTls(
  settings: SslSettings,
  host: string,
  resolvePath: (path: string) => string,
): ConnectionOptions | false | undefined {
  const { verify, rootCertificates, certificate, key } = settings
  if (verify === undefined) return undefined
  if (verify === 'plain') return false
  return {
    minVersion: 'TLSv1.2',
    rejectUnauthorized: verify !== 'none',
    checkServerIdentity: (_, certificate) =>
      verify === 'full' ? checkServerIdentity(host, certificate) : undefined,
    ...(rootCertificates && { ca: readCertificates(resolvePath(rootCertificates), 'sslrootcert') }),
    ...(certificate && { cert: readCertificates(resolvePath(certificate), 'sslcert') }),
    ...(key && { key: readKey(resolvePath(key)) }),
  }
}

/** PEM of a private key; DER and a byte order mark are read as in every key file. */
function readKey(path: string): string {
  const where = 'database_url: sslkey'
  const bytes = readPrivateFile(path, where)
  try {
    return privateKeyText(bytes)
  } catch (error) {
    throw new StartupError(`${where}: ${path}: ${(error as Error).message}`)
  } finally {
    bytes.fill(0)
  }
}

const certificates = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** As PEM, each of them readable: the TLS library reads a file without any as an empty list. */
function readCertificates(path: string, parameter: string): string[] {
  const where = `database_url: ${parameter}`
  let text: string
  try {
    text = pemText(readFileSync(path), 'CERTIFICATE')
  } catch (error) {
    throw new StartupError(`${where}: cannot read ${path}: ${(error as Error).message}`)
  }
  const found = text.match(certificates) ?? []
  if (found.length === 0) throw new StartupError(`${where}: ${path} contains no certificate in PEM`)
  try {
    for (const pem of found) new X509Certificate(pem)
  } catch {
    throw new StartupError(`${where}: ${path} contains a certificate that cannot be read`)
  }
  return parameter === 'sslcert' ? [found.join('\n')] : found
}
