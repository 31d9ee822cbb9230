import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartupError } from '@warder/base'
import { UsageError } from '@warder/command-line'

export interface CertificateRequest {
  /** The common name, which is the user. */
  readonly name: string
  readonly home: string
  /** Path of the files without their extensions. */
  readonly out: string
  readonly days: number
  /** For clients that support only RSA. */
  readonly rsa: boolean
  /** Unix milliseconds. */
  readonly now: number
}

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  readonly validTo: Date
}

const day = 24 * 60 * 60 * 1000
/** Tolerates clients with a slow clock. */
const backdateMs = 60 * 60 * 1000

/**
 * Issues a client certificate of the local authority of a home, for a KMIP client. Overwrites nothing; the key file has mode
 * 0600.
 * @throws UsageError for a name that cannot be a user, StartupError when it cannot be issued
 */
export async function makeCertificate(request: CertificateRequest): Promise<CertificateFiles> {
  const { name, home, out, days, rsa, now } = request
  const [cert, key] = [`${out}.crt`, `${out}.key`]
  for (const file of [key, cert]) if (existsSync(file)) throw createExistsError(file)
  const [caFile, caKeyFile] = [join(home, 'tls', 'ca.crt'), join(home, 'tls', 'ca.key')]
  for (const file of [caFile, caKeyFile]) {
    if (!existsSync(file))
      throw new StartupError(
        `${file} does not exist: without a local authority, issue the certificate with your own authority`,
      )
  }
  const authority = readFileSync(caFile, 'utf8')
  const notAfter = new Date(Math.min(now + days * day, new X509Certificate(authority).validToDate.getTime()))
  const { issueCertificate, readPeerCommonName, recordClientCertificate } = await import('@warder/server')
  const { certificatePem, keyPem } = await issueCertificate(
    {
      commonName: name,
      purpose: 'client',
      keyType: rsa ? 'rsa' : 'ec',
      hostnames: [],
      addresses: [],
      notBefore: new Date(now - backdateMs),
      notAfter,
    },
    { certificatePem: authority, privateKey: createPrivateKey(readFileSync(caKeyFile)) },
  )
  if (readPeerCommonName(new X509Certificate(certificatePem)) !== name)
    throw new UsageError(
      'the name must have 1 to 256 characters, without leading or trailing blanks, and must not be *',
    )
  recordClientCertificate(join(home, 'tls'), certificatePem)
  write(key, keyPem)
  write(cert, certificatePem)
  return { cert, key, validTo: notAfter }
}

function createExistsError(path: string): StartupError {
  return new StartupError(`${path} already exists and is not overwritten: move it away, or use --out PATH`)
}

function write(path: string, pem: string): void {
  try {
    writeFileSync(path, pem, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') throw createExistsError(path)
    if (code === 'ENOENT') throw new StartupError(`${path} was not written: the folder does not exist`)
    if (code === 'EACCES') throw new StartupError(`${path} was not written: permission denied for the folder`)
    throw new StartupError(`${path} was not written: ${error instanceof Error ? error.message : error}`)
  }
}
