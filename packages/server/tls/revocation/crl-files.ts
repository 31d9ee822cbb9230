import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import {
  type Crl,
  crlIsSignedWith,
  type ParsedCertificate,
  PkiError,
  parseCertificate,
  pemText,
  readCrl,
  readKeyUsage,
} from '@warder/pki'
import {
  type AuthorityCrl,
  buildRevokedCertificates,
  type RevokedCertificates,
} from './revoked-certificates.ts'

export interface ClientCrlFiles {
  /** PEM: the client authorities (`clients_ca_cert_file`). */
  readonly authoritiesFile: string
  /** PEM or DER, one or several CRLs in each. */
  readonly files: readonly string[]
  readonly strict: boolean
  /** true: these authorities issue without a CRL, also where `strict` is on. */
  readonly crlsOptional: boolean
}

/** The CRLs that were read, with those that have expired. */
export interface ReadClientCrls {
  readonly revoked: RevokedCertificates
  /** For people: which CRLs end when, in Unix milliseconds. */
  readonly ends: readonly { readonly file: string; readonly until: number | undefined }[]
}

const setting = 'clients_crl_files'
/** Of one file: 100,000 entries take 4 MB. */
const maxBytes = 256 * 1024 * 1024

/**
 * Reads the CRLs of the client authorities and checks their signatures. That one has expired is no error.
 * @throws StartupError that names the file and what is wrong with it
 */
export function readClientCrls({
  authoritiesFile,
  files,
  strict,
  crlsOptional,
}: ClientCrlFiles): ReadClientCrls {
  const authorities = readPemBlocks(
    Buffer.from(pemText(readFile(authoritiesFile), 'CERTIFICATE')),
    'CERTIFICATE',
  ).map((der) => withFileName(authoritiesFile, () => parseCertificate(der)))
  const read = files.flatMap((file) => readCrls(file, authorities).map((each) => ({ file, ...each })))
  return {
    revoked: buildRevokedCertificates(read, {
      strict,
      always: crlsOptional ? authorities.map(({ subject }) => subject) : [],
    }),
    ends: read.map(({ file, crl }) => ({ file, until: crl.nextUpdate })),
  }
}

function readCrls(file: string, authorities: readonly ParsedCertificate[]): readonly AuthorityCrl[] {
  const bytes = readFile(file)
  const ders = bytes[0] === 0x30 ? [bytes] : readPemBlocks(bytes, 'X509 CRL')
  if (ders.length === 0) throw new StartupError(`${setting}: ${file} contains no CRL in PEM or DER`)
  return ders.map((der) => {
    const crl = withFileName(file, () => readCrl(der))
    const problem = findCrlProblem(crl, authorities)
    if (problem !== undefined) throw new StartupError(`${setting}: ${file} ${problem}`)
    return { crl, der }
  })
}

function findCrlProblem(crl: Crl, authorities: readonly ParsedCertificate[]): string | undefined {
  if (crl.baseNumber !== undefined) return 'is a delta CRL: use the complete CRL'
  if (crl.scope?.indirect === true) return 'is an indirect CRL, which is not supported'
  if (crl.unknownCritical) return 'has a critical extension that is not understood'
  const issuers = authorities.filter(({ subject }) => Buffer.compare(subject, crl.issuer) === 0)
  if (issuers.length === 0) return 'is from an authority that is not in clients_ca_cert_file'
  const signer = issuers.find(({ key }) => crlIsSignedWith(crl, key))
  if (signer === undefined) return 'is not signed by its authority in clients_ca_cert_file'
  const uses = readKeyUsage(signer.extensions)
  return uses !== undefined && !uses.includes('cRLSign')
    ? 'is signed by a key that may not sign CRLs'
    : undefined
}

function readFile(file: string): Buffer {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new StartupError(
      `${setting}: cannot read ${file}: ${error instanceof Error ? error.message : error}`,
    )
  }
  if (bytes.length > maxBytes) throw new StartupError(`${setting}: ${file} is larger than ${maxBytes} bytes`)
  return bytes
}

function withFileName<T>(file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof PkiError) throw new StartupError(`${setting}: ${file}: ${error.message}`)
    throw error
  }
}

/** DER of each PEM block of this kind (RFC 7468). */
function readPemBlocks(bytes: Buffer, label: string): readonly Buffer[] {
  const block = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]+)-----END ${label}-----`, 'g')
  return [...bytes.toString('latin1').matchAll(block)].map(([, body = '']) => Buffer.from(body, 'base64'))
}
